package horseracing

import (
	"cmp"
	"context"
	"errors"
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
	listing    listing[T]
	query      FollowQuery
	lookback   int64         // milliseconds
	invalid    error         // of the query; yielded instead of races
	ranging    bool          // a loop is running
	known      walk.Position // the newest entry that a poll has read; not updated by a poll whose first entry has no start, and not part of the cursor
	hasResults bool          // the listing has shown an entry with its result
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
	if f.invalid != nil || f.state.Settled == 0 {
		return f.query.Resume
	}
	return newCursor(f.listing.kind, f.listing.tier, f.state)
}

// followLoop is one range over a follower: polls, each of which reads what starts at settled
// or later, and yields what is not in seen. Its methods report false once the range has ended.
//
//	a late result       is yielded by the next poll, if it starts at settled or later and is not in seen
//	an outage           yields an error for each failed request, with a backoff after it; nothing is passed over
//	a broken page       yields its error again and again; entries above it are held, entries below it are yielded first
//	an unreadable entry yields its error once, because the error is in seen
//	an empty page       is the end if it comes twice, and the known entry is shown in between
type followLoop[T any] struct {
	*Follower[T]
	ctx       context.Context // of the range
	yield     func(*T, error) bool
	isOnePoll bool // it ends after one poll, and after an error

	began   int64       // when the poll began, by the service's clock
	found   bool        // this poll has read an entry
	isKnown bool        // known is an entry of this poll
	lacking []listed[T] // read by this poll, and not yielded, because their results are missing
	maxNew  int         // new entries that a window may have, before it is cut
	step    int64       // milliseconds of the next window
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
// those of the page are yielded meanwhile. Entries that start later are yielded once the page
// can be read. While the newest page cannot be read, no entry is yielded, because each poll
// starts with that page.
//
// If an entry cannot be read, its error is a [*DecodeError], which is yielded once. If too
// many entries have the same start time, a [*TieOverflowError] is yielded. With
// [WithSkipHandler] the handler gets both instead. An entry that can be read later, within
// Lookback, is yielded then. The error of an entry without an id or a start time may be
// yielded again after a resume, because such an entry has no position.
//
// A race that is listed without a FinalOrder is held back until it has one, or until its start
// is more than Lookback ago. If no race of the listing has a FinalOrder, none is held back.
//
// If more than 700 entries start within Lookback, an entry that finishes late may be missed
// if it starts earlier than the newest 700 of them.
//
// Without Since and Resume, a program that stops before the first entry has no cursor to
// resume from. To get one, range over [Follower.CatchUp] first, and store the
// [Follower.Cursor].
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields the finished entries after the follower's
// position, oldest first, and ends. An error ends it too, unless the skip handler gets it. To
// continue, range over CatchUp or All again: an entry that could not be read is passed over,
// and a page that could not be read is requested again.
//
// Without Since and Resume, the first CatchUp yields no entry, but determines the position to
// start from: store the [Follower.Cursor] after it.
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

// poll yields what is new, and waits until the next poll is due. It reports false if there
// is none.
func (l *followLoop[T]) poll() bool {
	l.began, l.found, l.isKnown, l.lacking, l.maxNew = 0, false, false, nil, firstMaxNew
	if l.state.Settled == 0 {
		if err := l.findStart(); err != nil {
			return l.fail(err)
		}
	} else if !l.window(l.state.Settled, noEnd, 0) {
		return false
	} else if !l.found && len(l.state.Seen) > 0 {
		return l.fail(l.listing.emptied())
	}
	return !l.isOnePoll && l.schedule.wait(l.ctx, nil)
}

// fail yields an error, and waits until a retry is due. It reports false if there is none.
func (l *followLoop[T]) fail(err error) bool {
	return l.ctx.Err() == nil && l.yield(nil, err) &&
		!l.isOnePoll && !errors.Is(err, ErrInvalidArgument) && l.schedule.wait(l.ctx, err)
}

// findStart sets settled to Lookback before the newest entry, and records in seen what is listed
// from there on, so that it is not yielded, except entries that lack their results.
func (l *followLoop[T]) findStart() error {
	p := l.readPart(1, noEnd, 0)
	newest := l.began // of an empty listing
	if len(p.entries) > 0 {
		newest = min(p.entries[0].Start, newest)
	}
	if p.err == nil {
		p = l.readPart(max(1, newest-l.lookback), noEnd, maxSeen)
	}
	if p.err != nil {
		return p.err
	}
	l.state.advance(p.low)
	for _, e := range p.entries {
		if !l.lacksResult(e) { // an unreadable entry is old too, and may be readable later
			e.Err = nil
			l.state.Seen[keyOf(e)] = e.Start
		}
	}
	return nil
}

const (
	firstMaxNew = pageSize - 1 // maxNew of the first window of a poll: it is small, so that the first entries come soon
	fullMaxNew  = 4000         // maxNew after a window that was not cut and not empty
	maxHeld     = 7000         // entries that are held
	growth      = 8            // how many times as long the next window may be
	maxTries    = 4            // failures in a row, before a window whose newest page fails is cut

	noEnd = walk.Latest + 1 // the upper end of a window that begins with the newest entry
)

// window yields what starts at low or later, and before high, the oldest first. The listing
// shows the newest first. So if more than l.maxNew of it is new, it is cut: its newest part,
// which was read, is held, and the rest is yielded before, in windows of l.step from its lower
// end on, which are read in the same way. For 1,000 races, one a minute:
//
//	window(0, 1000)     races 991 to 999 are held; a window is to be 990/4 = 247 minutes
//	  window(0, 247)    races 238 to 246 are held; a window is to be 59 minutes
//	    window(0, 59)   races 50 to 58 are held; a window is to be 12 minutes
//	      window(0, 12)   races 3 to 11 are held; a window is to be half a minute
//	        window(0, ½)    race 0 is yielded; a window is to be 4 minutes, and may have 4,000 races
//	        window(½, 2)    races 1 and 2 are yielded; a window is to be 12 minutes
//	                      races 3 to 11 are yielded
//	      window(12, 24)  races 12 to 23 are yielded; a window is to be 96 minutes
//	      window(24, 49)  races 24 to 49 are yielded
//	                    races 50 to 58 are yielded
func (l *followLoop[T]) window(low, high int64, held int) bool {
	p, ok := l.read(low, high, max(firstMaxNew, min(l.maxNew, (maxHeld-held)/2)))
	if !ok {
		return false
	}
	l.resize(high-low, p.low-low, p.count)
	for low < p.low {
		end := min(p.low, low+l.step)
		if !l.window(low, end, held+len(p.entries)) {
			return false
		}
		l.advance(end) // what is held starts later
		low = end
	}
	return l.deliver(p.entries)
}

// resize sets step, and maxNew, after a window of span milliseconds was read: it showed so many
// entries, and its oldest left milliseconds are not read yet.
func (l *followLoop[T]) resize(span, left int64, entries int) {
	switch {
	case left > 0: // smaller windows would often be empty, larger ones be cut again
		l.step = max(1, left/4)
	case entries == 0:
		l.step = 2 * span
	default: // of the same density, and half of what it may have, as it may be denser
		l.maxNew = fullMaxNew
		l.step = max(1, int64(float64(span)*min(growth, fullMaxNew/float64(2*entries))))
	}
}

// part is what was read of a range, from its upper end down.
type part[T any] struct {
	low     int64       // what starts there or later was read
	entries []listed[T] // that were not yielded yet, including ties and unreadable ones
	count   int         // of entries, including those that were yielded before
	err     error       // why the page below low could not be read, or nil
}

// read reads what starts at low or later, and before high, newest first. It stops early if it
// has more than maxNew new entries that do not all share a start, or if a page fails after it
// has read others. If the first page fails, the error is yielded, and the page is requested
// again after a backoff. After maxTries failures in a row read returns an empty part, so that
// the caller cuts the window, because smaller ones may need other pages. It never does so for
// the newest page.
func (l *followLoop[T]) read(low, high int64, maxNew int) (part[T], bool) {
	p := l.readPart(low, high, maxNew)
	for p.err != nil && p.low == high {
		if !l.fail(p.err) {
			return p, false
		}
		if l.schedule.failures >= maxTries && high < noEnd {
			return p, true
		}
		p = l.readPart(low, high, maxNew)
	}
	if p.count > 0 || high < noEnd { // else the poll has found nothing, which may be a failure
		l.schedule.failures = 0
	}
	return p, true
}

// readPart reads as read does, without a retry.
func (l *followLoop[T]) readPart(low, high int64, maxNew int) part[T] {
	q := ResultsQuery{Tier: l.listing.tier, Since: time.UnixMilli(low), Concurrency: min(l.query.Concurrency, 1+maxNew/(5*pageSize))}
	pager, p := newPager(q, high-1, l.listing), part[T]{low: high}
	pager.known = l.known
	defer func() { l.began = cmp.Or(l.began, pager.firstResponse) }()
	for e := range pager.entries(l.ctx) {
		if e.Err != nil && !isSkip(e.Err) {
			p.err = e.Err
			return p.cut()
		}
		l.note(e)
		p.low, p.count = e.Start+1, p.count+1 // others may share its start
		if !l.wasYielded(e) {
			e.Value.JSON = nil
			p.entries = append(p.entries, e)
		}
		if len(p.entries) > maxNew && low < e.Start && e.Start < p.entries[0].Start {
			return p.cut()
		}
	}
	p.low = low
	return p
}

// cut returns the part without the entries whose start others may share.
func (p part[T]) cut() part[T] {
	p.entries = slices.DeleteFunc(p.entries, func(e listed[T]) bool { return e.Start < p.low })
	return p
}

// note notes what an entry shows of the listing.
func (l *followLoop[T]) note(e listed[T]) {
	if !l.isKnown && e.ID != "" && !e.Unplaced {
		l.known, l.isKnown = walk.Position{At: e.Start, Seen: []string{e.ID}}, true
	}
	l.found = true
	l.hasResults = l.hasResults || e.Err == nil && l.listing.hasResult != nil && l.listing.hasResult(e.Value.Value)
}

// wasYielded reports whether an entry was yielded, or the error of an unreadable one.
func (l *followLoop[T]) wasYielded(e listed[T]) bool {
	_, isSeen := l.state.Seen[keyOf(e)]
	e.Err = nil
	_, isSeenReadable := l.state.Seen[keyOf(e)]
	return isSeen || isSeenReadable
}

// advance raises settled to Lookback before an instant, at most to Lookback before the poll
// began: a poll may take hours, in which entries finish that start in what was read before.
func (l *followLoop[T]) advance(start int64) { l.state.advance(min(start, l.began) - l.lookback) }

// deliver yields entries that were read newest first, the oldest first.
func (l *followLoop[T]) deliver(entries []listed[T]) bool {
	for _, e := range slices.Backward(entries) {
		l.advance(e.Start)
		if l.lacksResult(e) {
			l.lacking = append(l.lacking, e)
		} else if !l.yieldEntry(e) {
			return false
		}
		if !l.forget() {
			return false
		}
	}
	return true
}

// forget bounds what is remembered: it raises settled, so that the newest entries are left.
// What lacks its result would not be read again, and is yielded before as it is.
func (l *followLoop[T]) forget() bool {
	if len(l.state.Seen)+len(l.lacking) < 2*maxSeen {
		return true
	}
	for _, e := range l.lacking {
		if !l.yieldEntry(e) {
			return false
		}
	}
	l.lacking = nil
	starts := slices.Sorted(maps.Values(l.state.Seen))
	l.state.advance(starts[len(starts)-maxSeen])
	return true
}

func (l *followLoop[T]) yieldEntry(e listed[T]) bool {
	if l.ctx.Err() != nil {
		return false
	}
	l.state.Seen[keyOf(e)] = e.Start
	isSkipped := e.Err != nil && l.listing.backend.skip(l.ctx, e.Err)
	return isSkipped || l.yield(e.Value.Value, e.Err) && (!l.isOnePoll || e.Err == nil)
}

// lacksResult reports whether an entry is not to be yielded yet: it has no result, although
// others have, and starts within Lookback of when the poll began, so that the next poll
// reads it again. One that starts later than that is listed long before it is run.
func (l *followLoop[T]) lacksResult(e listed[T]) bool {
	isRecent := l.began-l.lookback <= e.Start && e.Start-l.lookback <= l.began
	return isRecent && l.hasResults && e.Err == nil && !l.listing.hasResult(e.Value.Value)
}

// keyOf returns the key of an entry: a hash of its id and start, after a ? if it is
// unreadable.
func keyOf[T any](e listed[T]) string {
	mark, text := "", e.ID
	if e.Err != nil {
		mark = "?"
	}
	if !e.Unplaced {
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
