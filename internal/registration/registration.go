// Package registration has the error with which the library reports to package ledger that a race was
// read and does not list a horse.
package registration

// NotListedError is the cause of an UndecidedError if the response was not from a cache, and shows that
// the race does not list the horse so far, or that there is no such race.
type NotListedError struct{ Err error }

func (e *NotListedError) Error() string { return e.Err.Error() }

func (e *NotListedError) Unwrap() error { return e.Err }
