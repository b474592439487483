// Package registration has what package ledger needs of the library beyond its API: a read past caches,
// a look before a retry, and the error with which the library reports that a race was read and does not list a horse.
package registration

import "context"

type uncached struct{}

type beforeRetry struct{}

// Uncached returns a context in which reads do not use a cached response.
func Uncached(ctx context.Context) context.Context { return context.WithValue(ctx, uncached{}, true) }

// IsUncached reports whether ctx is of Uncached.
func IsUncached(ctx context.Context) bool { return ctx.Value(uncached{}) != nil }

// BeforeRetry returns a context in which a write calls look before each attempt after the first one. If that returns an
// error, the write is not sent again.
func BeforeRetry(ctx context.Context, look func() error) context.Context {
	return context.WithValue(ctx, beforeRetry{}, []func() error{look})
}

// Look returns the function that was given to BeforeRetry, if there is one.
func Look(ctx context.Context) []func() error {
	look, _ := ctx.Value(beforeRetry{}).([]func() error)
	return look
}

// NotListedError is the cause of an UndecidedError if the response was not from a cache, and shows that
// the race does not list the horse so far, or that there is no such race.
type NotListedError struct {
	Err    error
	IsFull bool // others have taken all places of the race
}

func (e *NotListedError) Error() string { return e.Err.Error() }

func (e *NotListedError) Unwrap() error { return e.Err }
