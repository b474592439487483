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

	"github.com/horseracing-go/horseracing/internal/walk"
)

const (
	followBatch = 1000 // races that are held in memory at once, to be sorted
	maxProbes   = 8    // failed requests in a row for the readable part of a hole
)

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop struct {
	*Follower
	ctx   context.Context // of the range
	yield func(*Race, error) bool
}

func (l *followLoop) emit(race *Race, err error) bool {
	return l.ctx.Err() == nil && l.yield(race, err)
}

func (l *followLoop) wait(err error) bool { return l.schedule.wait(l.ctx, err) }

// prime settles the races that have finished already: those of a first poll.
func (l *followLoop) prime() bool {
	c, ok := l.read(reading{one: true}, segment{walk.Earliest, walk.Latest})
	if ok && c.seen > 0 {
		l.state.floor = c.entries[0].Start - l.lookback
		if c, ok = l.read(reading{}, segment{l.state.floor, walk.Latest}); ok {
			l.dig(true, c)
			l.settlePast(c.entries)
			ok = l.retryHoles()
		}
	}
	l.state.begun = ok
	return ok
}

func (l *followLoop) settlePast(entries []pageEntry[Race]) {
	for _, e := range entries {
		l.state.settle(markID(e.ID), e.Start)
		l.state.advance(e.Start - l.lookback)
	}
}

// poll hands out the races that have finished since the last poll. If there are
// too many to hold at once, it reads them twice: first to divide their time range
// into parts, then part by part, the oldest first.
func (l *followLoop) poll() bool {
	of := segment{l.state.floor, walk.Latest}
	c, ok := l.read(reading{parts: true}, l.state.outsideHoles(of)...)
	for ok {
		l.dig(false, c) // before the floor passes it
		if !l.handOut(c.entries, nil) {
			return false
		}
		part, rest, more := c.next(of.high)
		if !more {
			return l.retryHoles()
		}
		c, ok = l.read(reading{}, l.state.outsideHoles(part)...)
		c.parts = rest
	}
	return false
}

// retryHoles requests each hole that is due, by a walk of its own.
func (l *followLoop) retryHoles() bool {
	for _, h := range slices.Clone(l.state.holes) {
		if time.Now().UnixMilli() >= h.due && slices.Contains(l.state.holes, h) && !l.retry(h) {
			return false
		}
	}
	return l.reportLost()
}

// retry requests a hole from its upper end. If that fails, it searches an instant
// further down from which the listing can be read, hands out the races below it,
// and so narrows the hole.
func (l *followLoop) retry(h *hole) bool {
	c, ok := l.read(reading{parts: true, once: true}, h.segment)
	if !ok {
		return false
	}
	if !c.isNothing() {
		return l.fill(h, h.high, c)
	}
	h.due = time.Now().Add(backoff(l.schedule.interval, h.failures)).UnixMilli()
	h.failures++
	for failed := 0; failed < maxProbes && h.low < h.probe && h.probe < h.high; {
		c, ok := l.read(reading{parts: true, once: true}, segment{h.low, h.probe})
		switch {
		case !ok:
			return false
		case c.isNothing():
			h.probe = segment{h.low, h.probe}.middle()
			failed++
		case !l.fill(h, h.probe, c):
			return false
		default:
			failed = 0
		}
	}
	return true
}

// fill hands out the races that were read of a hole, below the instant high.
func (l *followLoop) fill(h *hole, high int64, c collected) (ok bool) {
	for ok = true; ok; {
		for _, unread := range c.unread {
			l.state.dig(h.past, unread)
			l.state.fill(h, unread.high)
		}
		if h.past {
			l.settlePast(c.entries)
		} else if !l.handOut(c.entries, h) {
			return false
		}
		part, rest, more := c.next(high)
		if !more {
			l.state.fill(h, high)
			return true
		}
		l.state.fill(h, part.low)
		c, ok = l.read(reading{once: true}, part)
		c.parts = rest
	}
	return false
}

// reading configures a read.
type reading struct {
	one   bool // stop at the first entry
	parts bool // keep only the oldest part of more than followBatch races
	once  bool // a page that cannot be read is not requested again
}

// collected is the result of a read.
type collected struct {
	entries []pageEntry[Race] // that are not settled, unreadable ones included; of several parts those of the oldest
	parts   []int64           // where each part above that begins, newest first
	unread  []segment         // that could not be read
	seen    int               // entries, settled ones included
}

// isNothing reports whether not even the first page could be read.
func (c collected) isNothing() bool { return c.seen == 0 && len(c.unread) > 0 }

// dig adds a hole for each segment that could not be read.
func (l *followLoop) dig(past bool, c collected) {
	for _, unread := range c.unread {
		l.state.dig(past, unread)
	}
}

// next returns the part above the collected one, and where the parts above that
// begin.
func (c collected) next(high int64) (part segment, rest []int64, ok bool) {
	last := len(c.parts) - 1
	if last < 0 {
		return segment{}, nil, false
	}
	part, rest = segment{c.parts[last], high}, c.parts[:last]
	if last > 0 {
		part.high = c.parts[last-1]
	}
	return part, rest, true
}

// read reads segments, each newest first.
func (l *followLoop) read(how reading, segments ...segment) (c collected, ok bool) {
	for _, s := range segments {
		if !l.readSegment(&c, s, how) {
			return c, false
		}
	}
	return c, true
}

// readSegment reads one segment. A request that fails is made again, with
// backoff; a page that could not be read twice leaves the rest unread.
func (l *followLoop) readSegment(c *collected, s segment, how reading) bool {
	pager, seen, failedAt, unreadBelow := l.pager(s), 0, -1, s.high
	if l.state.holeBelow(s) != nil {
		how.once = true // a page that reaches into the hole cannot be read either
	}
	for {
		var failed error
		interrupted := false // the last entry was an error that marks a hole: the pager goes on behind it
		for e := range pager.entries(l.ctx) {
			interrupted = e.Err != nil
			if tie, ok := errors.AsType[*TieOverflowError](e.Err); ok {
				start := tie.StartTime.UnixMilli()
				if l.state.note(markTie, uint64(start), start) && !l.emit(nil, tie) {
					return false
				}
				continue
			}
			if e.Err != nil && !isUnreadableEntry(e) {
				failed = e.Err
				break
			}
			e = placed(e, unreadBelow-1)
			seen, unreadBelow = seen+1, e.Start+1
			l.schedule.succeeded()
			c.add(e, l.state.isSettled(markID(e.ID)), how)
			if how.one {
				return true
			}
		}
		switch _, unreadable := errors.AsType[*DecodeError](failed); {
		case l.ctx.Err() != nil:
			return false
		case failed == nil && interrupted:
			continue
		case failed == nil:
			return true
		case (unreadable || errors.Is(failed, ErrResponseTooLarge)) && (how.once || seen == failedAt) && (seen > 0 || s.high < walk.Latest):
			c.unread = append(c.unread, segment{s.low, unreadBelow})
			return true
		case !l.emit(nil, failed) || errors.Is(failed, ErrInvalidArgument):
			return false
		}
		failedAt = seen
		if !l.wait(failed) {
			return false
		}
	}
}

func (c *collected) add(e pageEntry[Race], settled bool, how reading) {
	c.seen++
	if settled {
		return
	}
	if n := len(c.entries); how.parts && n >= followBatch && e.Start < c.entries[n-1].Start {
		c.parts = append(c.parts, c.entries[n-1].Start)
		c.entries = nil
	}
	c.entries = append(c.entries, e)
}

// isUnreadableEntry reports whether e is the error of one unreadable entry.
func isUnreadableEntry(e pageEntry[Race]) bool { return e.Err != nil && e.JSON != nil }

// placed gives an unreadable entry a start and an id if it lacks them: before, and
// a hash of its JSON.
func placed(e pageEntry[Race], before int64) pageEntry[Race] {
	if e.Err == nil {
		return e
	}
	if e.Start == 0 {
		e.Start = before
	}
	if e.ID == "" {
		e.ID = string(e.JSON)
	}
	return e
}

// markID returns a race's id as a number, or a hash of what cannot be read.
func markID(id string) uint64 {
	if n, err := strconv.ParseUint(id, 10, 63); err == nil {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64() | 1<<63
}

// handOut yields entries that are not settled, the oldest first. It raises the
// floor with them, or if they are of a hole, fills that.
func (l *followLoop) handOut(entries []pageEntry[Race], h *hole) bool {
	sortByStart(entries)
	settled := l.state.floor // later polls read nothing below it
	if h == nil && len(entries) > 0 {
		settled = max(settled, entries[len(entries)-1].Start-l.lookback)
	}
	entries, ok := l.readAgain(entries, settled, h)
	if !ok {
		return false
	}
	for _, e := range entries {
		if h == nil {
			l.state.advance(e.Start - l.lookback)
		} else {
			l.state.fill(h, e.Start)
		}
		switch {
		case l.ctx.Err() != nil || !l.reportLost():
			return false
		case e.Err == nil:
			l.state.settle(markID(e.ID), e.Start)
			ok = l.emit(e.Value, nil)
		case e.Start < settled:
			l.state.settle(markID(e.ID), e.Start)
			ok = l.emit(nil, fmt.Errorf("%w; it is not read again", e.Err))
		default:
			ok = !l.state.note(markUnreadable, markID(e.ID), e.Start) || l.emit(nil, e.Err)
		}
		if !ok {
			return false
		}
	}
	return l.reportLost()
}

// readAgain reads the unreadable entries that start before an instant once more,
// because one response may have been garbled.
func (l *followLoop) readAgain(entries []pageEntry[Race], before int64, h *hole) ([]pageEntry[Race], bool) {
	again := segment{walk.Latest, walk.Earliest}
	have := make(map[string]bool, len(entries))
	rest := entries[:0:0]
	for _, e := range entries {
		if e.Err != nil && e.Start < before {
			again = segment{min(again.low, e.Start), max(again.high, e.Start+1)}
			continue
		}
		have[e.ID] = true
		rest = append(rest, e)
	}
	if len(rest) == len(entries) {
		return entries, true
	}
	segments := []segment{again}
	if h == nil {
		segments = l.state.outsideHoles(again)
	}
	c, ok := l.read(reading{once: true}, segments...)
	l.dig(false, c)
	for _, e := range c.entries {
		if !have[e.ID] {
			rest = append(rest, e)
		}
	}
	sortByStart(rest)
	return rest, ok
}

func sortByStart(entries []pageEntry[Race]) {
	slices.SortFunc(entries, func(a, b pageEntry[Race]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
}

// reportLost yields an error for each hole that was dropped.
func (l *followLoop) reportLost() bool {
	for len(l.state.lost) > 0 {
		s := l.state.lost[0]
		l.state.lost = l.state.lost[1:]
		err := l.op().undecodable("", 0, fmt.Errorf("the races that start from %v to %v could not be read, and this follower does not read them again: Races.Results can", timestampOf(max(s.low, minMilliseconds)), timestampOf(s.high)))
		if !l.emit(nil, err) {
			return false
		}
	}
	return true
}
