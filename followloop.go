package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// A time range is read in parts, the oldest first. Parts adapt to the density of
// the races: the first has few, the others about partRaces.
const (
	firstRaces = 30   // in the first part, at most
	partRaces  = 800  // in the others
	maxRaces   = 1000 // in a part, held in memory to be sorted
)

// givenUpAfter is how long unreadable entries and pages are requested again, unless
// Lookback is longer.
const givenUpAfter = time.Hour

// halvings is how often a time range is halved around a page that cannot be read.
const halvings = 7

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop struct {
	*Follower
	ctx   context.Context // of the range
	yield func(*Race, error) bool
	span  int64 // of the next part
	limit int   // entries that the next part may have

	unread   []gap // of this poll
	unreadTo int64 // everything unreadable in the last poll starts before this
	recent   int64 // start of the newest race, less Lookback: what may be new starts here or later
}

func (l *followLoop) emit(race *Race, err error) bool {
	return l.ctx.Err() == nil && l.yield(race, err)
}

func (l *followLoop) wait(err error) bool { return l.schedule.wait(l.ctx, err) }

// gap is a time range with a page that cannot be read.
type gap struct {
	low, high int64
	err       error
}

// poll requests again what was unreadable, then what may be new.
func (l *followLoop) poll() bool {
	s, low, known := l.state, l.state.floor, l.unreadTo
	l.unread, l.unreadTo = nil, walk.Earliest
	if known < l.recent { // all between them is settled
		if !l.readRange(low, known, known) {
			return false
		}
		low = max(s.floor, l.recent)
	}
	if !l.readRange(low, walk.Latest, known) {
		return false
	}
	if len(l.unread) > 0 {
		s.old = min(s.old, l.unreadTo)
	} else {
		s.old = walk.Earliest
		delete(s.marks, gapKey)
	}
	s.advance(l.recent)
	return true
}

// readRange reads a time range in parts and yields what is new. A page below known
// is expected to fail if one has failed before.
func (l *followLoop) readRange(low, until, known int64) bool {
	s := l.state
	for reached := low; low < until; {
		high := min(l.partEnd(low), until)
		stuck, isKnown := s.marks[gapKey]
		isKnown = isKnown && low < known
		c, ok := l.read(low, high, isKnown)
		for ok && c.overflow {
			l.span, l.limit = max(1, (c.low-max(low, 0))/2), firstRaces
			high = max(low, 0) + l.span
			c, ok = l.read(low, high, isKnown)
		}
		low = max(low, s.floor)
		if isOverdue := isKnown && l.isOverdue(stuck); ok && c.err != nil && (!isKnown || isOverdue) {
			ok = l.readAround(low, c.low, halvings) && (!isOverdue || l.giveUp())
			low, c.err = c.low, nil
		}
		if !ok || !l.deliver(low, high, c) {
			return false
		}
		s.trim()
		if high < until {
			l.adapt(len(c.entries))
		}
		if low = high; low > reached && s.hasCrowded() {
			reached, low, known, l.unread = low, s.floor, walk.Latest, nil
		}
	}
	return true
}

// giveUp yields the gaps of this poll, which are not requested again.
func (l *followLoop) giveUp() bool {
	if len(l.unread) == 0 { // it could be read after all
		return true
	}
	for _, g := range l.unread {
		if !l.emit(nil, &GapError{From: timestampOf(max(g.low, minMilliseconds)), To: timestampOf(g.high), Err: g.err, op: l.op()}) {
			return false
		}
		l.state.drop(g.low, g.high, nil)
	}
	delete(l.state.marks, gapKey)
	l.state.advance(l.unread[len(l.unread)-1].high)
	l.unread, l.unreadTo = nil, walk.Earliest
	return true
}

// partEnd returns where the part that begins at low ends.
func (l *followLoop) partEnd(low int64) int64 {
	if max(low, 0) < l.clock.Load()-l.span {
		return max(low, 0) + l.span
	}
	return walk.Latest
}

// readAround halves a time range around an unreadable page, so that few races are
// delayed or skipped with the page.
func (l *followLoop) readAround(low, high int64, depth int) bool {
	middle := max(low, 0) + (high-max(low, 0))/2
	for _, half := range [][2]int64{{low, middle}, {middle, high}} {
		low, high := half[0], half[1]
		if low >= high {
			continue
		}
		c, ok := l.read(low, high, true)
		if ok && c.err != nil && depth > 1 {
			ok = l.readAround(low, c.low, depth-1)
			low, c.err = c.low, nil
		}
		if !ok || !l.deliver(low, high, c) {
			return false
		}
	}
	return true
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
	entries  []pageEntry[Race] // that are not settled, with ties and unreadable ones
	low      int64             // everything from here on was read
	newest   int64             // start of the newest entry, unless that is in the future
	overflow bool              // there are more entries than the part may have
	err      error             // why the entries before low could not be read
}

// read reads what starts at low or later, and before high, newest first. A page
// that fails is requested again with backoff, unless it is known to be unreadable.
func (l *followLoop) read(low, high int64, known bool) (c collected, ok bool) {
	pager := l.pager(low, high)
	c.low, c.newest = high, minMilliseconds
	for failures := 0; ; {
		var failed error
		for e := range pager.entries(l.ctx) {
			if e.Err != nil && !errors.Is(e.Err, ErrHole) {
				failed = e.Err
				break
			}
			failures = 0
			l.schedule.succeeded()
			if !l.isFuture(e.Start) {
				c.newest = max(c.newest, e.Start)
			}
			if !l.state.begun() { // only the newest races are read
				l.state.floor = max(l.state.floor, c.newest-l.lookback)
			}
			if e.Start < l.state.floor {
				return c, true
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
		case c.low < walk.Latest && failures >= attempts(failed, known):
			c.err = failed
			return c, true
		case !l.emit(nil, failed) || errors.Is(failed, ErrInvalidArgument) || !l.wait(failed):
			return c, false
		}
	}
}

// attempts returns how often a page may fail in a row before the rest is read
// without it.
func attempts(err error, known bool) int {
	_, unreadable := errors.AsType[*DecodeError](err)
	switch {
	case !unreadable && !errors.Is(err, ErrResponseTooLarge) && !errors.Is(err, transport.ErrCut):
		return 6 // the service may be down
	case known:
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
func (l *followLoop) deliver(low, high int64, c collected) bool {
	s := l.state
	s.drop(c.low, high, c.entries)
	if c.err != nil {
		l.postpone(gap{low, c.low, c.err})
	}
	slices.SortFunc(c.entries, func(a, b pageEntry[Race]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range c.entries {
		if e.Start <= c.newest {
			s.advance(e.Start - l.lookback)
		}
		if !l.deliverEntry(e) {
			return false
		}
	}
	l.recent = max(l.recent, c.newest-l.lookback)
	return true
}

// postpone notes a gap, to be read again. Within Lookback races may finish late in
// it and below it, and the floor stays where it is.
func (l *followLoop) postpone(g gap) {
	start := g.low
	if g.high > l.clock.Load()-l.lookback {
		start = l.state.floor
	}
	l.state.postpone(gapKey, start, time.Now())
	l.unreadTo = max(l.unreadTo, g.high)
	if n := len(l.unread); n > 0 && l.unread[n-1].high == g.low {
		l.unread[n-1].high = g.high
	} else {
		l.unread = append(l.unread, g)
	}
}

func (l *followLoop) deliverEntry(e pageEntry[Race]) bool {
	s := l.state
	_, unreadable := errors.AsType[*DecodeError](e.Err)
	switch {
	case e.Start < s.old:
		s.settle(e.ID, e.Start)
		return true
	case !unreadable: // a race, or a tie
		s.settle(e.ID, e.Start)
		return l.emit(e.Value, e.Err)
	case s.postpone(e.ID, e.Start, time.Now()):
		l.unreadTo = max(l.unreadTo, e.Start+1)
		return l.emit(nil, e.Err)
	case l.isOverdue(s.marks[e.ID]):
		s.settle(e.ID, e.Start)
		return l.emit(nil, fmt.Errorf("%w; it is not read again", e.Err))
	}
	l.unreadTo = max(l.unreadTo, e.Start+1)
	return true
}

// keyOf returns the key of an entry's mark.
func keyOf(e pageEntry[Race]) string {
	switch {
	case e.ID != "":
		return e.ID
	case e.JSON == nil:
		return tieSign + strconv.FormatInt(e.Start, 10)
	}
	h := fnv.New64a()
	h.Write(e.JSON)
	return hashSign + strconv.FormatUint(h.Sum64(), 36)
}
