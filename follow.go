package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// FollowQuery configures a [Follower]. An entry that finishes late is found if it starts at
// most Lookback before the newest entry. Unlike in [ResultsQuery], Since is ignored with
// Resume.
type FollowQuery struct {
	Tier        TierID        // default TierOmega
	Since       time.Time     // only entries that start at this time or later; by default those that finish after the first successful poll; ignored with Resume
	Resume      Cursor        // continue after the position of a saved cursor, with its tier
	Interval    time.Duration // time between polls; default 30s
	Lookback    time.Duration // default 1h for races, 24h for tournaments
	Concurrency int           // requests in flight at once, when there is much to catch up with; default 1
}

const (
	followInterval     = 30 * time.Second
	raceLookback       = time.Hour
	tournamentLookback = 24 * time.Hour // they take hours
)

// Follower yields each newly finished race or tournament exactly once, by polling. No
// request is made until it is ranged over.
//
// It keeps its position as a [Pager] does: break out of a loop, then range again to continue,
// or store [Follower.Cursor] and resume in another process. Store the cursor in the
// transaction that handles an entry, and none is handled twice. No entry is missed, even across
// restarts, unless its result appears too late. It is in time if the entry starts at most
// Lookback before the newest entry that the Follower has read.
//
// A Follower is not safe for concurrent use, and only one loop may range over it at a
// time.
type Follower[T any] struct {
	listing  listing[T]
	query    FollowQuery
	lookback int64         // milliseconds
	invalid  error         // of the query; yielded instead of races
	ranging  bool          // a loop is running
	known    walk.Position // the newest entry with a start that a poll has read; not part of the cursor
	shown    walk.Shown    // what the listing has shown; not part of the cursor
	schedule pollSchedule
	state    *followState
	last     json.RawMessage // what was yielded last, as received
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

// Follow returns a Follower of the finished tournaments, as [RacesService.Follow] does of
// races. If tournaments can take longer than the default Lookback of a day, set a longer one.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Follow(q FollowQuery) *Follower[Tournament] {
	return newFollower(q, s.finished(), cursorFollowTournaments, tournamentLookback)
}

func newFollower[T any](q FollowQuery, l listing[T], kind cursorKind, lookback time.Duration) *Follower[T] {
	tier, payload, problem := resumed(kind, q.Tier, q.Resume)
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
	if payload != "" {
		f.state = newFollowState(0)
		if problem = decodePayload(payload, f.state); f.state.Seen == nil {
			problem = errDamagedCursor
		}
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
// Its text takes about forty bytes for each entry within Lookback, and never exceeds
// 64 KiB.
func (f *Follower[T]) Cursor() Cursor {
	if f.invalid != nil || f.state == nil || f.state.Settled == 0 {
		return f.query.Resume
	}
	return newCursor(f.listing.kind, f.listing.tier, f.state)
}

// JSON returns the entry yielded last as it was received, not redacted. It is nil before the first
// entry, and after an error that is not about one entry. Call it in the body of the loop.
func (f *Follower[T]) JSON() json.RawMessage { return f.last }

// followLoop is one range over a follower: one poll after another, until it ends.
//
// A poll reads what starts at settled or later, and yields what is not in seen. It goes
// forward, window by window. A window is a range of starts, which one pager reads, the newest
// entry first. Once all of it is read, its new entries are yielded, the oldest first, and the next
// window begins where it ends. The last window has no end, so that it shows the newest entry. A
// poll that has little to catch up with reads no other one.
//
// If a window has too many new entries, or a page of it fails, nothing of it is yielded, and a
// shorter one is tried instead, from the same instant on. For 1,000 races, one a minute from 0 on:
//
//	[0, no end)     races 990 to 999 are too many; a quarter of the rest is tried
//	[0, 247½)       races 238 to 247 are too many, as are those of [0, 59½) and [0, 12½)
//	[0, ¾)          race 0 is yielded; the next window is four times as long
//	[¾, 3¾)         races 1 to 3 are yielded, and then those of [3¾, 15¾), [15¾, 63¾) and [63¾, 255¾)
//	[255¾, no end)  all others are yielded, as a window of 768 minutes would end after the newest race
//
// What comes of trouble:
//
//	a late result       is yielded by the next poll, if it starts at settled or later and is not in seen
//	an outage           yields the error of each page that fails, with a backoff after it; nothing is passed over
//	a broken page       yields its error again and again; what is older is yielded, the rest waits
//	an unreadable entry yields its error once, because the error is in seen
//	an empty page       is the end if it comes twice, the known entry is shown in between, and no older one was ever shown
type followLoop[T any] struct {
	*Follower[T]
	ctx       context.Context // of the range
	yield     func(*T, error) bool
	isOnePoll bool // it ends after one poll, and after an error

	began   int64 // when the poll began
	ceiling int64 // what settled may rise to in this poll: Lookback before it began, and before the newest entry that it read first
	newest  int64 // the latest start that the poll has read, that of known; 0 before

	waiting []listed[T] // entries without a result that the poll has read, the oldest first; the next one reads them again
}

// All yields the finished entries after the follower's position, oldest first, and then polls
// for further ones. An entry that finishes late is yielded after entries that started later.
// The loop ends when ctx is done, without an error. No request is made while its body runs.
//
// An error comes with a nil entry. It does not end the loop, unless it matches
// ErrInvalidArgument. While the service refuses requests, the loop waits; after any other
// failure there is a backoff of up to five minutes. No entry is missed because of an outage.
//
// While a page cannot be read, each attempt yields its error. Entries that start earlier than
// those of the page are yielded meanwhile, the others once the page can be read. While the newest page cannot be read, no entry is yielded, because each poll starts with
// that page.
//
// If an entry cannot be read, its error is a [*DecodeError], which is yielded once. If too
// many entries have the same start time, a [*TieOverflowError] is yielded. With
// [WithSkipHandler] the handler gets both instead. An entry that can be read later, within
// Lookback, is yielded then. The error of an entry without an id or a start time may be
// yielded again after a resume, because such an entry has no position.
//
// A race that has participants and no FinalOrder is listed before its result is known. It is yielded
// once it has a FinalOrder, or, as it is, once a race is listed that starts more than Lookback later.
//
// If more than 700 entries start within Lookback, an entry that finishes late may be missed
// if it starts earlier than the newest 700 of them.
//
// Without Since and Resume, a program that stops before the first entry has no cursor to
// resume from. To get one, range over [Follower.CatchUp] first, and store the
// [Follower.Cursor].
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields the finished entries after the follower's
// position, oldest first, and ends. An error ends it too, also that of ctx, unless the skip
// handler gets it. To continue, range over CatchUp or All again: an entry that could not be read
// is passed over, and a page that could not be read is requested again.
//
// Without Since and Resume, the first CatchUp yields no entry, but determines the position to
// start from: store the [Follower.Cursor] after it.
func (f *Follower[T]) CatchUp(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, true) }

func (f *Follower[T]) follow(ctx context.Context, isOnePoll bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := f.listing.checkRange(ctx, f.invalid, f.ranging); err != nil {
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

// poll yields what is new, and waits until the next poll is due. It reports false if there
// is none.
func (l *followLoop[T]) poll() bool {
	l.began, l.newest, l.ceiling = time.Now().UnixMilli(), 0, 0
	if l.state.Settled == 0 {
		if err := l.findStart(); err != nil {
			return l.fail(err)
		}
		return l.finish()
	}
	low, next := l.state.Settled, size{noEnd, firstLimit + len(l.waiting)}
	l.waiting = nil
	for low < noEnd {
		high := int64(noEnd)
		if l.newest-low > next.length { // it ends before the newest entry
			high = low + next.length
		}
		w, isFirst := l.open(low, high, next.limit), l.newest == 0
		if !l.readPatiently(w) {
			return false
		}
		if l.ceiling == 0 && l.newest > 0 {
			l.ceiling = min(l.newest, l.began) - l.lookback
		}
		if w.isWhole() && !l.deliver(w.fresh) {
			return false
		}
		next = w.next(next)
		if w.isWhole() {
			low = high
		} else if isFirst && l.newest > 0 {
			first, err := l.firstStart(low, w.reached)
			if err != nil && !l.fail(err) {
				return false
			}
			next.length = max(next.length, first-low)
		}
	}
	if l.newest == 0 && len(l.state.Seen) > 0 {
		return l.fail(l.listing.emptied())
	}
	return l.finish()
}

// firstStart returns the first start in a range whose older half is empty, or low. It is found by
// halving, because an empty window costs a pause. A wrong one costs requests, but no entry.
func (l *followLoop[T]) firstStart(low, high int64) (int64, error) {
	for first, n := low, 0; high-low > 1 && (n == 0 || n >= pageSize); {
		middle := low + (high-low)/2
		p := l.listing.fetch(l.ctx, walk.Request{From: middle})
		if n = len(p.entries); p.err != nil || n > 0 && low == first {
			return low, p.err
		} else if n == 0 {
			low = middle
		}
		for _, e := range p.entries {
			high = min(high, e.Start)
		}
	}
	return high, nil
}

// finish waits for the next poll. It reports false if there is none.
func (l *followLoop[T]) finish() bool { return !l.isOnePoll && l.schedule.wait(l.ctx, nil) }

// fail yields an error, and waits until a retry is due. It reports false if there is none. When
// ctx is done, All ends without an error.
func (l *followLoop[T]) fail(err error) bool {
	l.last = nil
	return (l.isOnePoll || l.ctx.Err() == nil) && l.yield(nil, err) &&
		!l.isOnePoll && !errors.Is(err, ErrInvalidArgument) && l.schedule.wait(l.ctx, err)
}

// findStart sets settled to Lookback before the newest entry, and records in seen what is listed
// from there on, so that it is not yielded, except entries that lack their results.
func (l *followLoop[T]) findStart() error {
	w := l.open(1, noEnd, 0)
	if err := w.read(); err != nil {
		return err
	}
	newest := l.began // of an empty listing
	if l.newest > 0 {
		newest = min(l.newest, newest)
	}
	w = l.open(max(1, newest-l.lookback), noEnd, maxSeen)
	if err := w.read(); err != nil {
		return err
	}
	l.state.advance(w.reached)
	for _, e := range w.fresh {
		if !l.isPending(e) && e.Start >= w.reached { // an unreadable entry is old too, and may be readable later
			e.Err = nil
			l.state.Seen[keyOf(e)] = e.Start
		}
	}
	return nil
}

// window is a range of starts, from low on and before high, and what was read of it.
type window[T any] struct {
	loop      *followLoop[T]
	pager     *Pager[T]
	low, high int64
	limit     int
	reached   int64       // what starts there or later was read: low if all was, high if nothing
	fresh     []listed[T] // entries that were not yielded yet, newest first, including ties and unreadable ones
}

// size is the size of a window.
type size struct {
	length int64 // milliseconds
	limit  int   // new entries that it may have, unless all share one start
}

const (
	firstLimit = pageSize - 1 // of the first window of a poll: if its newest page is all new, there is much to catch up with
	fullLimit  = 4000         // after a window that had new entries
	maxTries   = 4            // failures of one page in a row, until a shorter window is tried, which may not need it

	noEnd = walk.Latest + 1 // the upper end of the last window of a poll
)

// next returns the size of the window after w, which had size s.
func (w *window[T]) next(s size) size {
	switch length, n := w.high-w.low, len(w.fresh); {
	case !w.isWhole(): // it has too many entries, or a page of it fails
		return size{max(1, (w.reached-w.low)/4), firstLimit}
	case n == 0:
		return size{2 * length, s.limit}
	case n < fullLimit/8: // four times as many, and even twice that, fit into the next one
		return size{4 * length, fullLimit}
	default:
		return size{length, fullLimit}
	}
}

// open returns a window of which nothing was read yet.
func (l *followLoop[T]) open(low, high int64, limit int) *window[T] {
	q := ResultsQuery{Tier: l.listing.tier, Since: time.UnixMilli(low), Concurrency: min(l.query.Concurrency, 1+limit/(5*pageSize))}
	w := &window[T]{loop: l, pager: newPager(q, high-1, l.listing), low: low, high: high, limit: limit, reached: high}
	w.pager.known, w.pager.position.Shown = l.known, l.shown
	return w
}

func (w *window[T]) isWhole() bool { return w.reached == w.low }

// read reads on, newest entry first, until there are more than limit new entries that do not
// all share a start. After an error it continues with the page that failed.
func (w *window[T]) read() error {
	defer func() { w.loop.shown = w.pager.position.Shown }()
	for e := range w.pager.entries(w.loop.ctx) {
		if e.Err != nil && !isSkip(e.Err) {
			return e.Err
		}
		w.loop.note(e)
		if w.reached = e.Start + 1; !w.loop.wasYielded(e) { // others may share its start
			w.fresh = append(w.fresh, e)
		}
		if len(w.fresh) > w.limit && w.low < e.Start && e.Start < w.fresh[0].Start {
			return nil
		}
	}
	w.reached = w.low
	return nil
}

// readPatiently reads a window. The error of each page that fails is yielded, and the page is
// requested again after a backoff, until it has failed maxTries times in a row. It reports false
// if the range has ended.
func (l *followLoop[T]) readPatiently(w *window[T]) bool {
	for tries := 0; tries < maxTries; tries++ {
		before := w.reached
		err := w.read()
		if w.reached < before && l.newest > 0 {
			tries, l.schedule.failures = 0, 0
		}
		if err == nil {
			return true
		}
		if !l.fail(err) {
			return false
		}
	}
	return true
}

// note notes what an entry shows of the listing.
func (l *followLoop[T]) note(e listed[T]) {
	if e.Start > l.newest && e.ID != "" && !e.NoStart {
		l.newest, l.known = e.Start, walk.Position{At: e.Start, Seen: []string{e.ID}}
	}
}

// wasYielded reports whether an entry was yielded, or the error of an unreadable one.
func (l *followLoop[T]) wasYielded(e listed[T]) bool {
	_, isSeen := l.state.Seen[keyOf(e)]
	e.Err = nil
	_, isSeenReadable := l.state.Seen[keyOf(e)]
	return isSeen || isSeenReadable
}

// deliver yields entries that were read newest first, the oldest first. Those without a result
// wait.
func (l *followLoop[T]) deliver(fresh []listed[T]) bool {
	for _, e := range slices.Backward(fresh) {
		if len(l.state.Seen)+len(l.waiting) >= 2*maxSeen && !l.forget(e.Start) {
			return false
		}
		if !l.advance(min(e.Start-l.lookback, l.ceiling)) {
			return false
		}
		if e.Start >= l.ceiling && l.isPending(e) {
			l.waiting = append(l.waiting, e)
		} else if !l.yieldEntry(e) {
			return false
		}
	}
	return true
}

// forget bounds what is remembered: it raises settled, so that the newest entries are left, but not
// above the next entry.
func (l *followLoop[T]) forget(next int64) bool {
	starts := slices.Collect(maps.Values(l.state.Seen))
	for _, e := range l.waiting {
		starts = append(starts, e.Start)
	}
	slices.Sort(starts)
	return l.advance(min(starts[len(starts)-maxSeen], next))
}

// advance raises settled. What waits would not be read again, and is yielded before as it is.
func (l *followLoop[T]) advance(settled int64) bool {
	for len(l.waiting) > 0 && l.waiting[0].Start < settled {
		e := l.waiting[0]
		l.waiting = l.waiting[1:]
		if !l.yieldEntry(e) {
			return false
		}
	}
	l.state.advance(settled)
	return true
}

// isPending reports whether an entry is listed before it has its result.
func (l *followLoop[T]) isPending(e listed[T]) bool {
	return e.Err == nil && l.listing.isPending != nil && l.listing.isPending(e.Value)
}

func (l *followLoop[T]) yieldEntry(e listed[T]) bool {
	if err := l.ctx.Err(); err != nil {
		return l.fail(fmt.Errorf("%v: %w", l.listing.op(), err))
	}
	l.state.Seen[keyOf(e)], l.last = e.Start, e.JSON
	isSkipped := e.Err != nil && l.listing.backend.skip(l.ctx, e.Err)
	return isSkipped || l.yield(e.Value, e.Err) && (!l.isOnePoll || e.Err == nil)
}

// keyOf returns the key of an entry: a hash of its id and start, after a ? if it is
// unreadable.
func keyOf[T any](e listed[T]) string {
	mark, text := "", e.ID
	if e.Err != nil {
		mark = "?"
	}
	if !e.NoStart {
		text += "@" + strconv.FormatInt(e.Start, 36)
	}
	return mark + hashOf(text)
}

// followState records which entries a follower has yielded. It is the content of the
// cursor. It does no I/O and reads no clock. Instants are epoch milliseconds.
//
// What starts before settled is never read again. What starts at settled or later is read by
// each poll, because late results may appear there, and yielded if it is not in seen. Settled
// is Since at first, or as findStart sets it. It rises to at most Lookback before the newest
// entry read, and before the start of the poll, unless forget raises it further to bound memory.
type followState struct {
	Settled int64            `json:"settled"`        // zero before the first poll
	Seen    map[string]int64 `json:"seen,omitempty"` // starts of the entries and errors that were yielded, or listed at the first poll, by their keys
}

// maxSeen bounds a cursor's text, and memory: if twice as much is remembered, settled rises.
const maxSeen = 700

func newFollowState(settled int64) *followState { return &followState{settled, map[string]int64{}} }

// advance raises settled, and forgets what starts before it.
func (s *followState) advance(settled int64) {
	if settled > s.Settled {
		s.Settled = settled
		maps.DeleteFunc(s.Seen, func(_ string, start int64) bool { return start < settled })
	}
}
