// Package follow decides which entries of a listing a follower yields, and when. It does no input
// or output and reads no clock: its caller reads the listing and passes in the entries.
package follow

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Progress keeps what a follower has yielded, what waits for its result, and what is settled.
// Instants are epoch milliseconds.
//
// A follower polls: it reads the listing from Settled on, and passes the entries to Progress in
// batches, oldest first. After each batch it calls Next, and yields the entry that it returns, until
// there is none. An entry that starts before Settled is never read again. One that starts at
// Settled or later is read by every poll, because late results may appear there, and is yielded
// unless Seen has it.
//
// Settled rises to one lookback before the entry that is decided next, but not above the ceiling
// of the poll, which is one lookback before the newest entry. An entry that lacks its result waits,
// and the next poll reads it again. If it starts before the ceiling, it is yielded as it is.
// With a lookback of 60, and * for a result that is lacking:
//
//	poll  listed                       ceiling  yielded       Settled  Seen
//	1     10, 50, 100*                 40       10, 50        40       50
//	2     10, 50, 100                  40       100           40       50, 100
//	3     70, 80*, 85, 100, 150        90       all but 100   90       100, 150
//	4     20, 80, 100, 150             90       –             90       100, 150
//
// Entry 70 is listed late, and is yielded. So is 80, without its result, because 150 is listed. Entry
// 20 is listed too late.
//
// To bound memory and the text of a cursor, Settled also rises, above the ceiling too, when
// twice [Bound] entries are in Seen or wait. Then late entries older than the newest Bound are missed.
//
// The Watermark is correct between any two calls: of the entries that were read, exactly those that start
// at Settled or later and are not in Seen are still to be yielded. So the loop may be left at
// any entry, and another process can continue from there.
type Progress[V any] struct {
	Watermark
	Lookback  int64        // how much later than an entry another one starts before the entry is settled, in milliseconds
	isPending func(V) bool // reports whether an entry lacks its result; it is nil if none does
	bound     int          // Bound, or less in tests

	ceiling int64            // of this poll, or zero before its first batch
	batch   []entry.Entry[V] // not decided yet, oldest first
	waiting []entry.Entry[V] // of this poll, oldest first
}

// Watermark is the part of a Progress that a cursor contains.
type Watermark struct {
	Settled int64            `json:"settled"`        // zero before the first poll
	Seen    map[string]int64 `json:"seen,omitempty"` // starts, by keys, of the entries and errors that were yielded, or listed at the first poll
}

// Bound is how many of the newest entries Seen keeps when Settled is raised to bound memory.
// That happens before Seen has many more than twice as many, which take less than 64 KiB in a
// cursor.
const Bound = 700

// New returns the Progress of a follower that continues from a watermark, whose Seen is not nil.
func New[V any](mark Watermark, lookback int64, isPending func(V) bool) *Progress[V] {
	return &Progress[V]{Watermark: mark, Lookback: lookback, isPending: isPending, bound: Bound}
}

// SkipListed ends the first poll of a follower that has no watermark. The entries that are listed from
// settled on, oldest first, are not yielded, nor are their errors, except those that lack their result.
func (p *Progress[V]) SkipListed(settled int64, listed []entry.Entry[V]) {
	for _, e := range listed {
		if !p.lacksResult(e) {
			e.Err = nil
			p.Seen[key(e)] = e.Start
		}
	}
	p.settle(settled)
}

// Begin begins a poll, which reads all from Settled on. It returns how many entries waited in the
// poll before.
func (p *Progress[V]) Begin() (waited int) {
	waited = len(p.waiting)
	p.batch, p.waiting, p.ceiling = nil, nil, 0
	return waited
}

// Add passes in a batch, oldest first: all that is listed between the end of the batch before,
// or Settled, and its own end. The newest entry that the poll has read starts at newest. Only
// the newest of the first batch counts, because late results may appear while the poll
// continues.
func (p *Progress[V]) Add(batch []entry.Entry[V], newest int64) {
	p.batch = batch
	if p.ceiling == 0 {
		p.ceiling = max(1, newest-p.Lookback) // zero would be none; no entry starts before 1
	}
}

// Next returns the next entry to yield, and counts it as yielded. It reports false when the batch is
// decided.
func (p *Progress[V]) Next() (e entry.Entry[V], ok bool) {
	for len(p.batch) > 0 {
		next := p.batch[0]
		settled := p.settledBefore(next.Start)
		if len(p.waiting) > 0 && p.waiting[0].Start < settled { // no poll would read it again
			e, p.waiting = p.waiting[0], p.waiting[1:]
			p.Seen[key(e)] = e.Start
			return e, true
		}
		p.settle(settled)
		p.batch = p.batch[1:]
		switch {
		case !p.IsNew(next):
		case next.Start >= p.ceiling && p.lacksResult(next):
			p.waiting = append(p.waiting, next)
		default:
			p.Seen[key(next)] = next.Start
			return next, true
		}
	}
	return e, false
}

// IsDecided reports whether there is nothing left for Next to decide.
func (p *Progress[V]) IsDecided() bool { return len(p.batch) == 0 }

// settledBefore returns what Settled rises to before an entry that starts at start is decided. It is
// never above start, because that entry and those after it are not yielded yet.
func (p *Progress[V]) settledBefore(start int64) int64 {
	settled := min(start-p.Lookback, p.ceiling)
	if len(p.Seen)+len(p.waiting) >= 2*p.bound {
		starts := slices.Collect(maps.Values(p.Seen))
		for _, e := range p.waiting {
			starts = append(starts, e.Start)
		}
		slices.Sort(starts)
		settled = max(settled, min(start, starts[len(starts)-p.bound]))
	}
	return settled
}

// settle raises Settled, and forgets what starts before it.
func (p *Progress[V]) settle(settled int64) {
	if settled > p.Settled {
		p.Settled = settled
		maps.DeleteFunc(p.Seen, func(_ string, start int64) bool { return start < settled })
	}
}

// IsNew reports whether neither an entry nor, if it cannot be read, its error is in Seen.
func (p *Progress[V]) IsNew(e entry.Entry[V]) bool {
	_, isSeen := p.Seen[key(e)]
	e.Err = nil
	_, isSeenReadable := p.Seen[key(e)]
	return !isSeen && !isSeenReadable
}

// lacksResult reports whether an entry is listed before it has its result.
func (p *Progress[V]) lacksResult(e entry.Entry[V]) bool {
	return e.Err == nil && p.isPending != nil && p.isPending(e.Value)
}

// key returns a hash of the id and start of an entry, after a ? if it cannot be read.
func key[V any](e entry.Entry[V]) string {
	mark, text := "", e.ID
	if e.Err != nil {
		mark = "?"
	}
	if !e.NoStart {
		text += "@" + strconv.FormatInt(e.Start, 36)
	}
	hash := sha256.Sum256([]byte(text))
	return mark + strconv.FormatUint(binary.BigEndian.Uint64(hash[:]), 36)
}
