package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// A time range is read in parts, the oldest first. Parts adapt to the density of
// the races: the first has few, the others about partRaces.
const (
	firstRaces = 30   // in the first part, at most, and in one that replaces a larger one
	partRaces  = 800  // in the others
	maxRaces   = 1000 // in a part, held in memory to be sorted
)

// firstSkip is how much earlier, in milliseconds, the read continues after a page that
// cannot be read. Each further time it is twice as much.
const firstSkip int64 = 60_000

// givenUpAfter is how long unreadable entries and pages are requested again, unless
// Lookback is longer.
const givenUpAfter = time.Hour

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop struct {
	*Follower
	ctx   context.Context // of the range
	yield func(*Race, error) bool
	span  int64 // of the next part
	limit int   // entries that the next part may have

	unreadTo int64 // everything unreadable in the last poll starts before this
	recent   int64 // start of the newest race, less Lookback: what may be new starts here or later
	skipped  bool  // a page was skipped, in this poll or the last
}

func (l *followLoop) emit(race *Race, err error) bool {
	return l.ctx.Err() == nil && l.yield(race, err)
}

func (l *followLoop) wait(err error) bool { return l.schedule.wait(l.ctx, err) }

// begin settles the races that finished before the follower began.
func (l *followLoop) begin() bool {
	l.limit = maxRaces
	c, ok := l.read(walk.Earliest, walk.Latest)
	if !ok {
		return false
	}
	for _, e := range c.entries {
		l.state.settle(e.ID, e.Start)
	}
	l.state.floor, l.begun = c.low, true
	if len(c.gaps) > 0 {
		return l.giveUp([]gap{{c.low, c.gaps[0].to, c.gaps[0].err}})
	}
	return true
}

// poll requests again what was unreadable, then what may be new.
func (l *followLoop) poll() bool {
	s, known, reached, hasGap := l.state, l.unreadTo, l.state.floor, false
	gap := s.marks[gapKey] // of the last poll
	l.unreadTo, l.skipped = walk.Earliest, gap.since != 0
	for low := s.floor; low < walk.Latest; {
		isKnown := gap.since != 0 && low < known
		high := l.partEnd(low)
		switch {
		case known >= l.recent:
		case low < known:
			high = min(high, known)
		case low < l.recent: // all between them is settled
			low = l.recent
			continue
		}
		c, high, ok := l.readPart(low, high)
		if !ok {
			return false
		}
		switch {
		case len(c.gaps) == 0:
			s.drop(low, high, c.entries)
		case !hasGap:
			since := time.Now().UnixMilli()
			if isKnown {
				since = gap.since
			}
			s.marks[gapKey], hasGap = mark{start: c.gaps[len(c.gaps)-1].from, since: since}, true
		}
		if !l.deliver(c) {
			return false
		}
		switch {
		case len(c.gaps) == 0:
		case isKnown && l.isOverdue(gap):
			delete(s.marks, gapKey)
			if hasGap = false; !l.giveUp(c.gaps) {
				return false
			}
		default:
			l.unreadTo = max(l.unreadTo, c.gaps[0].to)
		}
		s.trim()
		if high < walk.Latest {
			l.adapt(len(c.entries))
		}
		if low = high; low > reached && s.isCrowded() {
			reached, known, low, hasGap, gap = low, low, s.floor, false, s.marks[gapKey]
		}
	}
	if !hasGap {
		delete(s.marks, gapKey)
	}
	s.advance(l.recent)
	return true
}

// readPart reads a part, or a smaller one, up to end, if there are too many races.
func (l *followLoop) readPart(low, high int64) (c collected, end int64, ok bool) {
	for {
		if c, ok = l.read(low, high); !ok || !c.overflow {
			return c, high, ok
		}
		l.span, l.limit = max(1, (c.low-max(low, 0))/2), firstRaces
		high = max(low, 0) + l.span
	}
}

// giveUp yields gaps, which are not requested again.
func (l *followLoop) giveUp(gaps []gap) bool {
	for _, g := range slices.Backward(gaps) {
		l.state.drop(g.from, g.to, nil)
		l.state.advance(g.to)
		if !l.emit(nil, &GapError{From: timestampOf(max(g.from, minMilliseconds)), To: timestampOf(g.to), Err: g.err, op: l.op()}) {
			return false
		}
	}
	return true
}

// partEnd returns where the part that begins at low ends.
func (l *followLoop) partEnd(low int64) int64 {
	if max(low, 0) < l.clock.Load()-l.span {
		return max(low, 0) + l.span
	}
	return walk.Latest
}

// adapt sets the size of the next part, after one with n new entries.
func (l *followLoop) adapt(n int) {
	if n == 0 {
		l.span = min(2*l.span, walk.Latest/8)
		return
	}
	l.span = max(1, l.span/int64(n)*int64(min(partRaces, 3*n)))
	l.limit = min(4*l.limit, maxRaces)
}

// collected is the result of a read.
type collected struct {
	entries  []walk.Entry[Entry[Race]] // that are not settled, with ties and unreadable ones
	gaps     []gap                     // newest first
	low      int64                     // everything from here on was read, except the gaps
	newest   int64                     // start of the newest entry, unless that is in the future
	overflow bool                      // there are more entries than the part may have
}

// gap is a time range with a page that cannot be read.
type gap struct {
	from, to int64
	err      error
}

// skip notes that from here down to from nothing can be read.
func (c *collected) skip(from int64, err error) {
	if n := len(c.gaps); n > 0 && c.gaps[n-1].from == c.low {
		c.gaps[n-1].from = from
	} else {
		c.gaps = append(c.gaps, gap{from, c.low, err})
	}
	c.low = from
}

// read reads what starts at low or later, and before high, newest first. A page
// that fails is requested again with backoff, and then skipped: the read continues at
// an earlier time.
func (l *followLoop) read(low, high int64) (c collected, ok bool) {
	pager := l.pager(low, high)
	c.low, c.newest = high, minMilliseconds
	for failures, skip := 0, firstSkip; ; {
		var failed error
		for e := range pager.entries(l.ctx) {
			if e.Err != nil && !errors.Is(e.Err, ErrHole) {
				failed = e.Err
				break
			}
			failures, skip = 0, firstSkip
			l.schedule.succeeded()
			if !l.isFuture(e.Start) {
				c.newest = max(c.newest, e.Start)
			}
			if !l.begun { // only the newest races are read
				low = max(low, c.newest-l.lookback)
			}
			if e.Start < low {
				break
			}
			c.low = e.Start + 1 // others may share the start
			if e.ID = keyOf(e); !l.state.isSettled(e.ID) {
				c.entries = append(c.entries, e)
			}
			if len(c.entries) > l.limit && e.Start > low {
				c.overflow = true
				return c, true
			}
		}
		failures++
		switch {
		case l.ctx.Err() != nil:
			return c, false
		case failed == nil:
			c.low = low
			return c, true
		case c.low < walk.Latest && failures >= attempts(failed, l.skipped):
			c.skip(max(low, c.low-skip), failed)
			l.skipped, failures, skip = true, 0, 2*skip
			pager = l.pager(low, c.low)
		case !l.emit(nil, failed) || errors.Is(failed, ErrInvalidArgument) || !l.wait(failed):
			return c, false
		}
	}
}

// attempts returns how often a page may fail in a row before it is skipped.
func attempts(err error, skipped bool) int {
	_, unreadable := errors.AsType[*DecodeError](err)
	switch {
	case !unreadable && !errors.Is(err, ErrResponseTooLarge) && !errors.Is(err, transport.ErrCut):
		return 6 // the service may be down
	case skipped: // it is requested again in the next poll
		return 1
	}
	return 2
}

func (l *followLoop) isOverdue(m mark) bool {
	return l.state.isOverdue(m, time.Now(), max(givenUpAfter, time.Duration(l.lookback)*time.Millisecond))
}

// isFuture reports whether a race starts too late to move the floor.
func (l *followLoop) isFuture(start int64) bool { return start > l.clock.Load()+l.lookback }

// deliver yields the entries of a part, the oldest first, and raises the floor.
func (l *followLoop) deliver(c collected) bool {
	slices.SortFunc(c.entries, func(a, b walk.Entry[Entry[Race]]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range c.entries {
		if e.Start <= c.newest {
			l.state.advance(e.Start - l.lookback)
		}
		if !l.deliverEntry(e) {
			return false
		}
	}
	l.recent = max(l.recent, c.newest-l.lookback)
	return true
}

func (l *followLoop) deliverEntry(e walk.Entry[Entry[Race]]) bool {
	s := l.state
	_, unreadable := errors.AsType[*DecodeError](e.Err)
	switch {
	case !unreadable: // a race, or a tie
		s.settle(e.ID, e.Start)
		return l.emit(e.Value.Value, e.Err)
	case l.isOverdue(s.marks[e.ID]):
		s.settle(e.ID, e.Start)
		return l.emit(nil, fmt.Errorf("%w; it is not read again", e.Err))
	}
	l.unreadTo = max(l.unreadTo, e.Start+1)
	return !s.postpone(e.ID, e.Start, time.Now()) || l.emit(nil, e.Err)
}

// keyOf returns the key of an entry's mark.
func keyOf(e walk.Entry[Entry[Race]]) string {
	switch {
	case e.ID != "":
		return e.ID
	case e.Value.JSON == nil:
		return tieSign + strconv.FormatInt(e.Start, 10)
	}
	return hashSign + checksum(string(e.Value.JSON))
}
