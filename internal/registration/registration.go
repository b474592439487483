// Package registration has what package ledger and the library share about a reading of a race.
package registration

// NotListedError is the cause of an UndecidedError if the race was read whole, and does not list
// the horse so far.
type NotListedError struct{ Text string }

func (e *NotListedError) Error() string { return e.Text }
