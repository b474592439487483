// Package entry has the one form in which an entry of a response passes through the library: decode
// reads it, listing gives it its place, and walk and follow determine when it is yielded.
package entry

// Entry is one entry of a response, or an error in its place.
type Entry[V any] struct {
	Value   V      // with an error, what could be read of it
	JSON    []byte // as received
	ID      string // empty if it has none, or if the error is not that of an entry
	Start   int64  // epoch milliseconds, or zero if the entries of the listing have no start
	NoStart bool   // it has no start of its own, although it should; Start is then the newest start of its page
	Err     error  // why the entry or a page cannot be read
	Ties    int    // not 0 if this many entries with that start fill a page, so that the listing cannot show whether there are more
}

// Key identifies an entry of a listing: several may have one id.
type Key struct {
	ID    string
	Start int64
}

// Key returns the key of an entry that has an id and a start.
func (e *Entry[V]) Key() Key { return Key{e.ID, e.Start} }

// IsOfPart reports whether an error concerns a part of a listing, whose other parts can be read.
func (e *Entry[V]) IsOfPart() bool { return e.ID != "" || e.Ties > 0 }
