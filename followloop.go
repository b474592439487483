package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
// cannot be read, if the page before was read.
const firstSkip int64 = 60_000

// maxFailures is how many times in a row a page fails before it is skipped: the service
// may be down. A page that arrives and is unreadable is skipped at once.
const maxFailures = 6

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
}

// part is the result of reading a time range.
type part struct {
	low, high int64                     // everything from low up to high was read, except the gaps
	entries   []walk.Entry[Entry[Race]] // that are not settled, including ties and unreadable ones
	gaps      []gap                     // newest first
}

// gap is a time range with a page that cannot be read.
type gap struct {
	from, to int64
	err      error
}

// All yields the finished races after the follower's position, and polls for new ones.
// It ends without an error when ctx is done or the caller leaves the loop. No request
// is made while the loop body runs. The races belong to the caller.
//
// Past races are read oldest first, in batches of up to about a thousand, each held in
// memory; the first batch is small. After that, each poll reads all races that started
// up to Lookback before the newest one, so a race is not missed if its result appears
// within Lookback of its start. Each poll yields its new races oldest first, so a race
// that finishes late comes after races that started later. If more than 1,000 races
// start within Lookback, only the newest 1,000 are checked for late results. Races that
// start more than Lookback in the future are ignored when determining the newest one.
//
// An error is yielded with a nil race, and polling continues:
//
//   - A failed poll is repeated after a backoff of up to five minutes (or Interval, if
//     that is longer); a Retry-After of up to an hour is honored. While the service
//     refuses all requests, an error is yielded about every 10 to 15 minutes.
//   - A race that cannot be read is reported as a [*DecodeError] when it is first
//     seen. It is requested again at each poll for an hour (or Lookback, if that is
//     longer), or until a thousand later races were found. If it is still unreadable
//     then, it is reported a second and last time.
//   - A page that cannot be read, or fails six times in a row after other pages of its
//     poll were read, is reported, and does not delay later races. It is requested
//     again for the same time as an unreadable race, then skipped and reported as a
//     [*GapError]; without Since and Resume, the first poll skips it at once.
//   - A [*TieOverflowError] is yielded once per instant.
//
// ErrInvalidArgument ends the loop.
func (f *Follower) All(ctx context.Context) iter.Seq2[*Race, error] {
	return func(yield func(*Race, error) bool) {
		if err := mayRange(ctx, finishedRaces, f.invalid, f.ranging); err != nil {
			yield(nil, err)
			return
		}
		f.ranging = true
		defer func() { f.ranging = false }()
		l := &followLoop{Follower: f, ctx: ctx, yield: yield, span: 2 * f.lookback, limit: firstRaces}
		if f.state.recent != 0 || l.begin() {
			for l.poll() && f.schedule.wait(ctx, nil) {
			}
		}
	}
}

func (l *followLoop) emit(race *Race, err error) bool {
	return l.ctx.Err() == nil && l.yield(race, err)
}

// begin settles the races that finished before the follower began. It reads the newest
// ones, then all that start up to Lookback before these.
func (l *followLoop) begin() bool {
	p, ok := l.read(walk.Earliest, walk.Latest)
	l.limit = maxRaces
	if ok && p.low > walk.Earliest {
		p, ok = l.read(p.low-l.lookback, walk.Latest)
	}
	if !ok {
		return false
	}
	l.state.recent = max(1, p.low) // no race starts before that
	for _, e := range p.entries {
		l.advance(e.Start)
		l.state.settle(e.ID, e.Start)
	}
	return l.giveUp(p)
}

// poll requests the unreadable entries and pages again, then the new races. It starts
// over if it finds too many entries after an unreadable one.
func (l *followLoop) poll() bool {
	s := l.state
	low, unreadTo := s.unsettled()
	overdue := l.isOverdue(s.gap)
	for low < walk.Latest {
		end := int64(walk.Latest)
		switch {
		case low >= unreadTo: // everything from there to recent is settled
			low, overdue = max(low, s.recent), false
		case unreadTo < s.recent:
			end = unreadTo
		}
		p, ok := l.readPart(low, end)
		if !ok || !l.deliver(p, overdue) {
			return false
		}
		floor, isCrowded := s.trim(p.high)
		if isCrowded {
			return l.poll()
		}
		low = max(p.high, floor)
	}
	return true
}

// readPart reads a part that begins at low and ends at end at the latest.
func (l *followLoop) readPart(low, end int64) (p part, ok bool) {
	high := end
	if low < min(l.clock.Load(), end)-l.span {
		high = low + l.span
	}
	p, ok = l.read(low, high)
	for ok && p.low > low { // there are more
		l.span, l.limit = max(1, (p.low-low)/2), firstRaces
		high = low + l.span
		p, ok = l.read(low, high)
	}
	if high < walk.Latest {
		n := int64(max(1, len(p.entries)))
		l.span = min(max(1, l.span/n*min(partRaces, 3*n)), walk.Latest/8)
		l.limit = max(l.limit, min(4*len(p.entries), maxRaces))
	}
	return p, ok
}

// read reads the entries that start at low or later, and before high, newest first,
// until there are more than l.limit. A page that fails is requested again with backoff;
// an unreadable one, or one that failed maxFailures times, is skipped.
func (l *followLoop) read(low, high int64) (p part, ok bool) {
	p = part{low: high, high: high}
	pager := l.pager(low, high)
	for {
		var failed error
		for e := range pager.entries(l.ctx) {
			if e.Err != nil && !errors.Is(e.Err, ErrHole) {
				failed = e.Err
				break
			}
			l.schedule.failures = 0
			p.low = e.Start + 1 // others may share the start
			if e.ID = keyOf(e); !l.state.isSettled(e.ID) {
				p.entries = append(p.entries, e)
			}
			if len(p.entries) > l.limit && e.Start > low {
				return p, true
			}
		}
		switch {
		case l.ctx.Err() != nil:
			return p, false
		case failed == nil:
			p.low = low
			return p, true
		case p.low < walk.Latest && (isUnreadable(failed) || l.schedule.failures == maxFailures-1):
			p.skip(low, failed)
			l.schedule.failures = 0
			pager = l.pager(low, p.low)
		case !l.emit(nil, failed) || errors.Is(failed, ErrInvalidArgument) || !l.schedule.wait(l.ctx, failed):
			return p, false
		}
	}
}

// isUnreadable reports whether err is about the content of a page.
func isUnreadable(err error) bool {
	_, undecodable := errors.AsType[*DecodeError](err)
	return undecodable || errors.Is(err, ErrResponseTooLarge) || errors.Is(err, transport.ErrCut)
}

// skip adds a gap below p.low, down to low at most, and moves p.low to its lower end.
// Directly after another skip it doubles that gap.
func (p *part) skip(low int64, err error) {
	last := len(p.gaps) - 1
	if last < 0 || p.gaps[last].from > p.low {
		p.gaps = append(p.gaps, gap{p.low, p.low, err})
		last++
	}
	g := &p.gaps[last]
	g.from = max(low, g.from-max(firstSkip, g.to-g.from))
	p.low = g.from
}

// isOverdue reports whether an unreadable entry or page is given up if it fails once
// more: it has failed for a time, or too many later entries were found.
func (l *followLoop) isOverdue(m mark) bool {
	wait := max(givenUpAfter, time.Duration(l.lookback)*time.Millisecond)
	return m.since != 0 && (time.Since(time.UnixMilli(m.since)) >= wait || m.start < l.state.bound())
}

// advance raises the floor to Lookback before the start of a race, unless the race is
// more than Lookback in the future.
func (l *followLoop) advance(start int64) {
	if start-l.lookback <= l.clock.Load() {
		l.state.advance(start - l.lookback)
	}
}

// deliver yields the entries of a part, the oldest first. Overdue gaps are given up;
// the others are marked, to be requested again.
func (l *followLoop) deliver(p part, overdue bool) bool {
	s := l.state
	from, to := p.high, p.high // the range that is requested again
	if n := len(p.gaps); n > 0 && !overdue {
		from, to = p.gaps[n-1].from, p.gaps[0].to
		if s.postponeGap(from, to, time.Now().UnixMilli()) && !l.emit(nil, p.gaps[0].err) {
			return false
		}
	}
	slices.SortFunc(p.entries, func(a, b walk.Entry[Entry[Race]]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range p.entries {
		l.advance(e.Start)
		if l.ctx.Err() != nil || !l.deliverEntry(e) {
			return false
		}
	}
	if overdue && !l.giveUp(p) {
		return false
	}
	s.resolve(p.low, from, p.entries)
	s.resolve(to, p.high, p.entries)
	return true
}

func (l *followLoop) deliverEntry(e walk.Entry[Entry[Race]]) bool {
	s, err := l.state, e.Err
	if _, unreadable := errors.AsType[*DecodeError](err); unreadable {
		if !l.isOverdue(s.marks[e.ID]) {
			return !s.postpone(e.ID, e.Start, time.Now().UnixMilli()) || l.emit(nil, err)
		}
		err = fmt.Errorf("%w; it is not read again", err)
	}
	s.settle(e.ID, e.Start)
	return l.emit(e.Value.Value, err)
}

// giveUp yields the gaps of a part, which are not requested again. A race that starts
// before the end of a gap is not yielded if it finishes from now on, so a gap begins
// Lookback ago at the latest.
func (l *followLoop) giveUp(p part) bool {
	for _, g := range slices.Backward(p.gaps) {
		if l.ctx.Err() != nil {
			return false
		}
		g.from = min(g.from, max(l.state.recent, l.clock.Load()-l.lookback))
		l.state.resolve(p.low, g.to, p.entries)
		l.state.advance(g.to)
		if !l.emit(nil, &GapError{From: timestampOf(max(1, g.from)), To: timestampOf(g.to), Err: g.err, operation: finishedRaces.String()}) {
			return false
		}
	}
	return true
}
