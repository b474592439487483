package horseracing

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// FollowQuery configures a [Follower].
type FollowQuery struct {
	Tier        TierID        // default TierOmega
	Since       time.Time     // only what starts at this time or later; by default, what finishes from now on; ignored with Resume, unlike in ResultsQuery
	Resume      Cursor        // continue from a saved cursor, with its tier; default start at Since
	Interval    time.Duration // time between polls; default 30s
	Lookback    time.Duration // how far before the newest start each poll looks for what finishes late; default 1h for races, 24h for tournaments
	Concurrency int           // pages of the past fetched at once; default 1
}

const (
	followInterval     = 30 * time.Second
	raceLookback       = time.Hour
	tournamentLookback = 24 * time.Hour // they take hours
)

// Follower yields each newly finished race or tournament exactly once, by polling. No
// request is made until it is ranged over.
//
// It keeps its position as a [Pager] does: break out of a loop, then range again to
// continue, or store [Follower.Cursor] and resume in another process. Store the cursor
// in the transaction that handles an entry, and none is handled twice. None is missed,
// even across restarts, if its result appears and can be read within Lookback.
//
// A Follower is not safe for concurrent use, and only one loop may range over it at a
// time.
type Follower[T any] struct {
	listing    listing[T]
	query      FollowQuery
	lookback   int64 // milliseconds
	invalid    error // of the query; yielded instead of races
	ranging    bool  // a loop is running
	hasResults bool  // the listing has shown an entry with its result
	schedule   pollSchedule
	state      *followState
}

// Follow returns a Follower of the finished races.
//
// With Since it yields the races that start at Since or later, past races first.
// Without Since it yields the races that finish after its first successful poll. With
// Resume it continues after a saved cursor.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Follow(q FollowQuery) *Follower[Race] {
	return newFollower(q, s.finished(), cursorFollowRaces, raceLookback)
}

// Follow returns a Follower of the finished tournaments, as [RacesService.Follow] does
// of races. A tournament is missed if one that starts more than Lookback later appears
// in an earlier poll.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Follow(q FollowQuery) *Follower[Tournament] {
	return newFollower(q, s.finished(), cursorFollowTournaments, tournamentLookback)
}

func newFollower[T any](q FollowQuery, l listing[T], kind cursorKind, lookback time.Duration) *Follower[T] {
	tier, fields, problem := resumed(kind, q.Tier, q.Resume)
	l.kind, l.order, l.tier = kind, pace.Poll, tier
	f := &Follower[T]{
		listing: l, query: q,
		lookback: int64((cmp.Or(q.Lookback, lookback)-1)/time.Millisecond) + 1,
		schedule: pollSchedule{interval: cmp.Or(q.Interval, followInterval)},
		state:    newFollowState(0),
	}
	if !q.Since.IsZero() {
		f.state.advance(max(1, ceilMilli(q.Since)))
	}
	if fields != nil {
		f.state, problem = parseFollowState(fields)
	}
	problem = cmp.Or(checkNotNegative("an Interval", q.Interval), checkNotNegative("a Lookback", q.Lookback), checkNotNegative("a Concurrency", q.Concurrency), problem)
	if problem != nil {
		f.invalid = l.op().invalid(problem)
	}
	return f
}

// Cursor returns the position after everything yielded so far. If the query has
// neither Since nor Resume, it is the zero Cursor until the first poll succeeds.
//
// Its text takes about twenty bytes for each entry within Lookback, and never exceeds
// 64 KiB.
func (f *Follower[T]) Cursor() Cursor {
	if f.invalid != nil || f.state.recent == 0 {
		return f.query.Resume
	}
	return newCursor(f.listing.kind, f.listing.tier, f.state.payload()...)
}

// A poll reads the past in windows, the oldest first, because the listing shows the newest
// first.
const (
	firstMost = pageSize - 1 // new entries that the first windows of a poll may have: they come soon
	growth    = 8            // how many times as many the next window may have
	maxMost   = 4000         // entries that a window may have; it is to have half as many
	maxHeld   = 7000         // entries that are held
)

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop[T any] struct {
	*Follower[T]
	ctx       context.Context // of the range
	yield     func(*T, error) bool
	isOnePoll bool // it ends after one poll, and after an error other than that of an entry

	began   int64                  // when the poll began, by the service's clock
	most    int                    // new entries that the next window may have
	step    int64                  // milliseconds that it spans
	found   bool                   // this poll has read an entry
	pending []walk.Entry[Entry[T]] // read by this poll, and held back for their results
}

// All yields what finished after the follower's position, oldest first, and polls
// for new ones. An entry that finishes late comes after entries that started later. The loop
// ends when ctx is done, without an error. No request is made while its body runs.
//
// An error comes with a nil entry. It does not end the loop, unless it matches
// ErrInvalidArgument. While the service refuses requests, the loop waits; after any other
// failure there is a backoff of up to five minutes. An outage costs no entry. While one
// page of the past cannot be read, its error comes again and again, and nothing that starts
// later.
//
// The error of an entry that cannot be read is a [*DecodeError], and comes once; a
// [*TieOverflowError] is that of an instant with too many entries. [WithSkipHandler] gets
// both instead, if it is set. Entries that can be read later, within Lookback, are yielded
// then.
//
// A race that is listed before it has a FinalOrder comes once it has one, or when it
// starts more than Lookback ago, if other races of the listing have one.
//
// Of the entries within Lookback, the newest 1,000 are checked for late results.
//
// Without Since and Resume there is no position to store before the first entry comes:
// range over [Follower.CatchUp] first, which finds one, and store its [Follower.Cursor].
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields what finished after the
// follower's position, oldest first, and ends. The error of an entry does not end it; any
// other does. Range again, over CatchUp or All, to continue after it.
//
// Without Since and Resume the first CatchUp yields no entry, but finds where to start:
// store the [Follower.Cursor] after it.
func (f *Follower[T]) CatchUp(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, true) }

func (f *Follower[T]) follow(ctx context.Context, isOnePoll bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := checkRange(ctx, f.listing.op(), f.invalid, f.ranging); err != nil {
			yield(nil, err)
			return
		}
		f.ranging = true
		defer func() { f.ranging = false }()
		l := &followLoop[T]{Follower: f, ctx: ctx, yield: yield, isOnePoll: isOnePoll}
		for l.poll() {
		}
	}
}

// errLeft is the error of a poll whose loop was left.
var errLeft = errors.New("the loop was left")

// poll yields what is new, or an error, and waits until the next poll is due. It reports
// false if there is none.
func (l *followLoop[T]) poll() bool {
	l.began, l.most, l.step, l.found, l.pending = 0, firstMost, 0, false, nil
	var err error
	if l.state.recent == 0 {
		err = l.begin()
	} else if err = l.window(l.state.recent, walk.Latest, 0); err == nil && !l.found && len(l.state.seen) > 0 {
		err = l.listing.emptied()
	}
	if l.ctx.Err() != nil || err != nil && (errors.Is(err, errLeft) || !l.yield(nil, err)) {
		return false
	}
	return !l.isOnePoll && !errors.Is(err, ErrInvalidArgument) && l.schedule.wait(l.ctx, err)
}

// begin notes what finished before the follower began, down to Lookback before the newest.
func (l *followLoop[T]) begin() error {
	p, err := l.read(0, walk.Latest, 0)
	if err != nil {
		return err
	}
	newest := l.began // of an empty listing
	if len(p.entries) > 0 {
		newest = min(p.entries[0].Start, newest)
	}
	if p, err = l.read(max(1, newest-l.lookback), walk.Latest, maxSeen); err != nil {
		return err
	}
	l.state.advance(p.low)
	for _, e := range p.entries {
		if !l.isPending(e) { // an unreadable entry is old too, and may be readable later
			e.Err = nil
			l.state.seen[keyOf(e)] = e.Start
		}
	}
	return nil
}

// window yields what starts at low or later, and before high, the oldest first. If that is
// more than is to be read at once, the newest of it is held, and what is below is yielded
// before, in windows whose length follows from how many entries the last one had.
func (l *followLoop[T]) window(low, high int64, held int) error {
	p, err := l.read(low, high, max(firstMost, min(l.most, (maxHeld-held)/2)))
	if err != nil {
		return err
	}
	switch {
	case p.low > low:
		l.step = max(1, (p.low-low)/4)
	case p.read == 0:
		l.step = 2 * (high - low)
	default:
		l.most = min(growth*l.most, maxMost)
		l.step = max(1, int64(float64(high-low)*min(growth, float64(l.most)/float64(2*p.read))))
	}
	for low < p.low {
		next := min(p.low, low+l.step)
		if err := l.window(low, next, held+len(p.entries)); err != nil {
			return err
		}
		l.advance(next) // what is held starts later
		low = next
	}
	return l.deliver(p.entries)
}

// part is the result of reading a time range.
type part[T any] struct {
	low     int64                  // everything that starts there or later was read
	entries []walk.Entry[Entry[T]] // that were not yielded yet, including ties and unreadable ones
	read    int                    // entries, those too that were yielded before
}

// read reads what starts at low or later, and before high, newest first, until there are
// more than that many new entries that do not all share a start.
func (l *followLoop[T]) read(low, high int64, most int) (part[T], error) {
	q := ResultsQuery{Tier: l.listing.tier, Since: time.UnixMilli(low), Concurrency: l.query.Concurrency}
	if high < walk.Latest {
		q.Before = time.UnixMilli(high)
	}
	pager, p := newPager(q, 0, l.listing), part[T]{low: low}
	for e := range pager.entries(l.ctx, most) {
		if e.Err != nil && !isSkip(e.Err) {
			return p, e.Err
		}
		l.schedule.failures, l.found = 0, true
		l.hasResults = l.hasResults || e.Err == nil && l.listing.hasResult != nil && l.listing.hasResult(e.Value.Value)
		e.Value.JSON = nil
		p.read++
		if !l.wasYielded(e) {
			p.entries = append(p.entries, e)
		}
		if len(p.entries) > most && low < e.Start && e.Start < p.entries[0].Start {
			p.low = e.Start + 1 // others may share the start
			p.entries = slices.DeleteFunc(p.entries, func(e walk.Entry[Entry[T]]) bool { return e.Start < p.low })
			break
		}
	}
	l.began = cmp.Or(l.began, pager.began)
	return p, nil
}

// wasYielded reports whether an entry was yielded, or the error of an unreadable one.
func (l *followLoop[T]) wasYielded(e walk.Entry[Entry[T]]) bool {
	_, same := l.state.seen[keyOf(e)]
	e.Err = nil
	_, whole := l.state.seen[keyOf(e)]
	return whole || same
}

// advance raises recent to Lookback before an instant, at most to Lookback before the poll
// began: a poll may take hours, in which entries finish that lie in what was read before.
func (l *followLoop[T]) advance(start int64) { l.state.advance(min(start, l.began) - l.lookback) }

// deliver yields entries, the oldest first.
func (l *followLoop[T]) deliver(entries []walk.Entry[Entry[T]]) error {
	slices.SortFunc(entries, func(a, b walk.Entry[Entry[T]]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range entries {
		l.advance(e.Start)
		switch {
		case !l.trim():
			return errLeft
		case l.isPending(e):
			l.pending = append(l.pending, e)
		case !l.yieldEntry(e):
			return errLeft
		}
	}
	return nil
}

// trim bounds what is remembered. Entries that were held back and would not be read
// again are yielded before.
func (l *followLoop[T]) trim() bool {
	if len(l.state.seen) < 2*maxSeen {
		return true
	}
	first := l.state.firstKept()
	for _, e := range l.pending {
		if l.state.recent <= e.Start && e.Start < first && !l.yieldEntry(e) {
			return false
		}
	}
	l.state.advance(first)
	return true
}

func (l *followLoop[T]) yieldEntry(e walk.Entry[Entry[T]]) bool {
	if l.ctx.Err() != nil {
		return false
	}
	l.state.seen[keyOf(e)] = e.Start
	isSkipped := e.Err != nil && l.listing.backend.skip(l.ctx, e.Err)
	return isSkipped || l.yield(e.Value.Value, e.Err)
}

// isPending reports whether an entry is held back: it has no result yet, although others
// have, and starts within Lookback of when the poll began, so that the next poll reads it
// again.
func (l *followLoop[T]) isPending(e walk.Entry[Entry[T]]) bool {
	isRecent := l.began-l.lookback <= e.Start && e.Start-l.lookback <= l.began
	return isRecent && l.hasResults && e.Err == nil && !l.listing.hasResult(e.Value.Value)
}

// keyOf returns the key of an entry: a hash of its id and start, after a ? if it is
// unreadable.
func keyOf[T any](e walk.Entry[Entry[T]]) string {
	mark, text := "", e.ID
	if e.Err != nil {
		mark = "?"
	}
	if !e.Adrift {
		text += "@" + strconv.FormatInt(e.Start, 36)
	}
	return mark + hashOf(text)
}

// followState records which entries a follower has yielded. It is the content of the
// cursor. It does no I/O and reads no clock. Instants are epoch milliseconds.
//
// Everything that starts before recent was yielded. From recent on, which is Lookback
// before the newest race, late results may appear: there, what was yielded is in seen.
type followState struct {
	recent int64            // zero before the first poll
	seen   map[string]int64 // starts of the entries and errors that were yielded, by their keys
}

// maxSeen bounds a cursor's text, and memory: if twice as much was seen, recent rises.
const maxSeen = 1000

func newFollowState(recent int64) *followState { return &followState{recent, map[string]int64{}} }

// advance raises recent, and forgets what starts before it.
func (s *followState) advance(recent int64) {
	if recent > s.recent {
		s.recent = recent
		maps.DeleteFunc(s.seen, func(_ string, start int64) bool { return start < recent })
	}
}

// firstKept returns what recent has to rise to if too much was seen.
func (s *followState) firstKept() int64 {
	if n := len(s.seen); n > maxSeen {
		return slices.Sorted(maps.Values(s.seen))[n-maxSeen]
	}
	return s.recent
}

// payload returns the state as fields of a cursor. Starts are relative to recent.
func (s *followState) payload() []string {
	fields := []string{strconv.FormatInt(s.recent, 36)}
	for _, key := range slices.Sorted(maps.Keys(s.seen)) {
		fields = append(fields, key+"_"+strconv.FormatInt(s.seen[key]-s.recent, 36))
	}
	return fields
}

// parseFollowState is the inverse of payload. The problem is nil if the fields are
// valid.
func parseFollowState(fields []string) (s *followState, problem error) {
	recent, invalid := strconv.ParseInt(fields[0], 36, 64)
	s = newFollowState(recent)
	for _, field := range fields[1:] {
		key, after, _ := strings.Cut(field, "_")
		start, err := strconv.ParseInt(after, 36, 64)
		s.seen[key], invalid = recent+start, cmp.Or(invalid, err)
	}
	if invalid != nil {
		problem = errDamagedCursor
	}
	return s, problem
}
