// Package registration has what package ledger and the library share about a registration that is
// being sent, and about a reading of its race.
package registration

import "context"

type awaitKey struct{}

// Await returns a context whose end does not interrupt an attempt that has begun: that lasts until
// its response, or as long as an attempt may take. Between attempts the context ends what waits, as
// any other does.
func Await(ctx context.Context) context.Context {
	return context.WithValue(ctx, awaitKey{}, true)
}

// Attempt returns the context of an attempt that is made with ctx: without its end if that was
// given to [Await], or else ctx.
func Attempt(ctx context.Context) context.Context {
	if ctx.Value(awaitKey{}) != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// NotListedError is the cause of an UndecidedError if the race was read whole, and does not list
// the horse so far.
type NotListedError struct{ Text string }

func (e *NotListedError) Error() string { return e.Text }
