// Package registration has the error with which the library reports to package ledger that a race was
// read and does not list a horse.
package registration

// NotListedError is the cause of an UndecidedError if the race was read whole, and does not list
// the horse so far.
type NotListedError struct{ Text string }

func (e *NotListedError) Error() string { return e.Text }
