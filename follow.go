package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing/internal/follow"
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

// Follower yields each newly finished race or tournament exactly once, by polling. No
// request is made until it is ranged over.
//
// To keep a store up to date each day, range over [Follower.CatchUp] with the cursor of the day
// before. A program that keeps running ranges over [Follower.All].
//
// A Follower keeps its position as a [Pager] does: break out of a loop, then range again to
// continue, or store [Follower.Cursor] and resume in another process. If you store the cursor
// in the transaction that handles an entry, no entry is handled twice. No entry is missed, even
// across restarts, unless its result appears too late. A result is in time if its entry starts
// at most Lookback before the newest entry that the Follower has read.
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
	progress *follow.Progress[*T]
	last     json.RawMessage // what was yielded last, as received
}

// Follow returns a Follower of the finished races.
//
// With Since it yields the races that start at Since or later, past races first. Without Since
// it yields the races that finish after its first successful poll. If that poll found no race,
// it yields all races that are listed later. With Resume it continues after a saved cursor.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Follow(q FollowQuery) *Follower[Race] {
	return newFollower(q, s.finished(), cursorFollowRaces, time.Hour)
}

// Follow returns a Follower of the finished tournaments, as [RacesService.Follow] does of
// races. If tournaments can take longer than the default Lookback of a day, set a longer one.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Follow(q FollowQuery) *Follower[Tournament] {
	return newFollower(q, s.finished(), cursorFollowTournaments, 24*time.Hour)
}

func newFollower[T any](q FollowQuery, l listing[T], kind cursorKind, lookback time.Duration) *Follower[T] {
	tier, payload, problem := resumed(kind, q.Tier, q.Resume)
	l.kind, l.order, l.tier = kind, pace.Poll, tier
	f := &Follower[T]{
		listing: l, query: q,
		lookback: int64((cmp.Or(q.Lookback, lookback)-1)/time.Millisecond) + 1,
		schedule: pollSchedule{interval: cmp.Or(q.Interval, 30*time.Second)},
	}
	position := follow.Position{Seen: map[string]int64{}}
	if !q.Since.IsZero() {
		position.Settled = max(1, ceilMilli(q.Since))
	}
	if payload != "" {
		position.Settled = 0
		if problem = decodePayload(payload, &position); position.Seen == nil {
			problem = errDamagedCursor
		}
	}
	f.progress = follow.New(position, f.lookback, l.isPending)
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
	if f.invalid != nil || f.progress == nil || f.progress.Settled == 0 {
		return f.query.Resume
	}
	return newCursor(f.listing.kind, f.listing.tier, f.progress.Position)
}

// JSON returns the entry yielded last as it was received, not redacted. It is nil before the first
// entry, and after an error that is not about one entry. Call it in the body of the loop.
func (f *Follower[T]) JSON() json.RawMessage { return f.last }

// All yields the finished entries after the follower's position, oldest first, and then polls
// for further ones. An entry that finishes late is yielded after entries that started later.
// The loop ends when ctx is done, without an error. No request is made while its body runs.
//
// An error comes with a nil entry. It does not end the loop, unless it matches
// ErrInvalidArgument. While the service refuses requests, the loop waits; after any other
// failure there is a backoff of up to five minutes. No entry is missed because of an outage.
//
// While a page cannot be read, each attempt yields its error. Entries that start earlier than
// those of the page are yielded meanwhile, the others once the page can be read. While the
// newest page cannot be read, no entry is yielded, because each poll starts with that page.
//
// If an entry cannot be read, its error is a [*DecodeError], which is yielded once. If too
// many entries have the same start time, a [*TieOverflowError] is yielded. With
// [WithSkipHandler] the handler gets both instead. If a later poll can read the entry, and the
// entry is still within Lookback, the entry is yielded then. The error of an entry without an
// id or a start time may be yielded again, because such an entry cannot be recognized
// reliably.
//
// If a race is listed with participants but without a FinalOrder, its result is not known yet.
// The race is held back until it has a FinalOrder, or until another race is listed that starts
// more than Lookback later. In the second case it is yielded without a FinalOrder. If the
// service never sends a FinalOrder, each race is therefore yielded about one Lookback late.
//
// If more than 700 entries start within Lookback, an entry that finishes late may be missed
// if it starts earlier than the newest 700 of them.
//
// Without Since and Resume, a program that stops before the first entry has no cursor to
// resume from. To get one, range over [Follower.CatchUp] first, and store the
// [Follower.Cursor].
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields the finished entries after the follower's
// position, oldest first, and ends. It also ends at any error, including the error of ctx.
// With [WithSkipHandler] an entry that cannot be read does not end it. To continue, range over
// CatchUp or All again: the entry that could not be read is skipped, and a page that could not
// be read is requested again.
//
// Without Since and Resume, the first CatchUp yields no entry, but determines the position to
// start from: store the [Follower.Cursor] after it.
func (f *Follower[T]) CatchUp(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, true) }

// follow polls: it reads one window after another, and yields the new entries of each. It waits
// after each poll, and after each error. After an error it continues the same poll.
func (f *Follower[T]) follow(ctx context.Context, isOnePoll bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := f.listing.checkRange(ctx, f.invalid, f.ranging); err != nil {
			yield(nil, err)
			return
		}
		f.ranging = true
		defer func() { f.ranging = false }()
		p := newPoll(f)
		for {
			err := p.next(ctx)
			if err == nil {
				err = f.deliver(ctx, yield, isOnePoll)
			}
			switch {
			case err == nil && p.low < noEnd:
				continue
			case errors.Is(err, errLeft), err != nil && ctx.Err() != nil && !isOnePoll: // All ends without an error
				return
			case err != nil:
				f.last = nil
				if !yield(nil, err) || errors.Is(err, ErrInvalidArgument) {
					return
				}
			}
			if isOnePoll || !f.schedule.wait(ctx, err) {
				return
			}
			if p.low == noEnd { // this poll is done
				p = newPoll(f)
			}
		}
	}
}

var errLeft = errors.New("nothing more is to be yielded")

// deliver yields the entries that the progress returns. An unreadable entry ends a loop over CatchUp.
func (f *Follower[T]) deliver(ctx context.Context, yield func(*T, error) bool, isOnePoll bool) error {
	for e, ok := f.progress.Next(); ok; e, ok = f.progress.Next() {
		f.last = e.JSON
		isSkipped := e.Err != nil && f.listing.backend.skip(ctx, e.Err)
		if !isSkipped && (!yield(e.Value, e.Err) || e.Err != nil && isOnePoll) {
			return errLeft
		}
		if err := ctx.Err(); err != nil && !f.progress.IsDecided() {
			return fmt.Errorf("%v: %w", f.listing.op(), err)
		}
	}
	return nil
}

// poll reads the entries that start at settled or later, and passes the new ones to the follower's
// progress. It goes forward, window by window. A window is a range of starts, which one pager reads,
// newest entry first. Once all of it was read, its new entries are yielded, oldest first, and the next
// window begins where it ends. The first window has no end, so that it shows the newest entry. If there
// is little to catch up with, it is the only one.
//
// If a window has too many new entries, or a page of it fails again and again, nothing of it is
// yielded, and a shorter one is read instead, from the same instant on. For 1,000 races, one a minute
// from 0 on, in pages of ten:
//
//	[0, no end)     the newest page, races 990 to 999, is all new; a quarter of the rest is tried
//	[0, 247½)       races 238 to 247 are too many, as are those of [0, 59½) and [0, 12½)
//	[0, ¾)          race 0 is yielded; the next window is four times as long
//	[¾, 3¾)         races 1 to 3 are yielded, and then those of [3¾, 15¾), [15¾, 63¾) and [63¾, 255¾)
//	[255¾, no end)  all others are yielded, as a window of 768 minutes would end after the newest race
//
// In case of trouble:
//
//	a late result       is yielded by the next poll, if its entry starts at settled or later
//	a missing result    makes its race wait, as follow.Progress describes
//	an outage           yields the error of each page that fails, with a backoff after it; nothing is passed over
//	a broken page       yields its error at each attempt; older entries are yielded, newer ones wait
//	an unreadable entry yields its error once, because the error counts as yielded
//	an empty page       is the end if it comes twice, the known entry is shown in between, and no older one was ever shown
type poll[T any] struct {
	follower *Follower[T]
	began    int64      // when the poll began, by the local clock
	low      int64      // entries that start earlier were read and yielded; it is noEnd after the last window, and zero at the first poll of a follower that has no position
	window   *window[T] // the one that is being read, or nil between two
	length   int64      // of the next window, in milliseconds
	limit    int        // how many new entries a window may have, unless all share one start
	newest   int64      // the latest start that this poll has read, which is that of follower.known, or zero if it has read none
}

// window is a range of starts, from low on and before high, and the entries that were read of it.
type window[T any] struct {
	pager     *Pager[T]
	low, high int64
	reached   int64       // entries that start at this instant or later were read: low if all were, high if none
	fresh     []listed[T] // new entries, newest first, including ties and unreadable ones
}

const (
	firstLimit  = pageSize - 1 // of the first window of a poll: if its newest page is all new, there is much to catch up with
	fullLimit   = 4000         // after a window that had new entries
	maxFailures = 4            // of one page in a row; then a shorter window is tried, which may not need that page

	noEnd = walk.Latest + 1 // the upper end of the last window of a poll
)

func newPoll[T any](f *Follower[T]) *poll[T] {
	waited := f.progress.Begin()
	return &poll[T]{follower: f, began: time.Now().UnixMilli(), low: f.progress.Settled, length: noEnd, limit: firstLimit + waited}
}

// next reads the next window, and passes its new entries to the progress. After an error it is
// called again, and requests the page that failed, or reads a shorter window.
func (p *poll[T]) next(ctx context.Context) error {
	if p.low == 0 {
		p.low = noEnd // if it fails, the next poll starts again
		return p.first(ctx)
	}
	for {
		if p.window == nil {
			p.window = p.open(p.low)
		}
		w := p.window
		err := p.read(ctx, w)
		if isStuck := p.follower.schedule.failures%maxFailures == maxFailures-1; err != nil && (!isStuck || p.newest == 0) {
			return err
		}
		p.window = nil
		if w.reached == w.low {
			return p.pass(w)
		}
		isFirst := p.length == noEnd
		p.length, p.limit = max(1, (w.reached-w.low)/4), firstLimit
		if err == nil && isFirst {
			err = p.skipGap(ctx, w.low, w.reached)
		}
		if err != nil {
			return err
		}
	}
}

// open returns a window of which nothing was read yet. It has no end if its length reaches the
// newest entry.
func (p *poll[T]) open(low int64) *window[T] {
	f, high := p.follower, int64(noEnd)
	if p.newest-low > p.length {
		high = low + p.length
	}
	q := ResultsQuery{Tier: f.listing.tier, Since: time.UnixMilli(low), Concurrency: min(f.query.Concurrency, 1+p.limit/(5*pageSize))}
	w := &window[T]{pager: newPager(q, high-1, f.listing), low: low, high: high, reached: high}
	w.pager.known, w.pager.position.Shown = f.known, f.shown
	return w
}

// read reads on, newest entry first, until a window has too many new entries that do not
// all share a start. After an error it continues with the page that failed.
func (p *poll[T]) read(ctx context.Context, w *window[T]) error {
	f := p.follower
	defer func() { f.shown = w.pager.position.Shown }()
	for e := range w.pager.entries(ctx) {
		if e.Err != nil && !isSkip(e.Err) {
			return e.Err
		}
		f.schedule.failures = 0
		if e.Start > p.newest && e.ID != "" && !e.NoStart {
			p.newest, f.known = e.Start, walk.Position{At: e.Start, Seen: []string{e.ID}}
		}
		if w.reached = e.Start + 1; f.progress.IsNew(e) { // others may share its start
			w.fresh = append(w.fresh, e)
		}
		if len(w.fresh) > p.limit && w.low < e.Start && e.Start < w.fresh[0].Start {
			return nil
		}
	}
	w.reached = w.low
	return nil
}

// pass passes the new entries of a window to the progress. They determine the length of the next
// one. The local clock only keeps an entry that is dated in the future from raising settled: if it
// is behind, settled rises later, and no entry is missed.
func (p *poll[T]) pass(w *window[T]) error {
	f, n := p.follower, len(w.fresh)
	p.low, p.length = w.high, w.high-w.low
	if p.newest == 0 && len(f.progress.Seen) > 0 {
		return f.listing.emptied()
	}
	f.schedule.failures = 0 // also if the window was empty
	if n == 0 {
		p.length *= 2
	} else if p.limit = fullLimit; n < fullLimit/8 { // four times as many, and even twice that, fit into the next one
		p.length *= 4
	}
	slices.Reverse(w.fresh)
	f.progress.Add(w.fresh, min(p.newest, p.began))
	return nil
}

// skipGap lengthens the next window if no entry starts in the older half of a range, as before the
// beginning of a listing: it ends at the first entry, which is found by halving. The empty windows
// that this saves would each cost a pause and the checks of an empty page. A wrong page at most costs
// requests, because it only determines a length.
func (p *poll[T]) skipGap(ctx context.Context, from, high int64) error {
	for low, n := from, 0; high-low > 1 && (n == 0 || n >= pageSize); {
		middle := low + (high-low)/2
		page := p.follower.listing.fetch(ctx, walk.Request{From: middle})
		if n = len(page.entries); page.err != nil || n > 0 && low == from {
			return page.err
		} else if n == 0 {
			low = middle
		}
		for _, e := range page.entries {
			high = min(high, e.Start)
		}
	}
	p.length = max(p.length, high-from)
	return nil
}

// first is the first poll of a follower that has no position. It settles one lookback before the
// newest entry. In an empty listing, everything that is listed later is new, whatever the clocks show.
func (p *poll[T]) first(ctx context.Context) error {
	f, w, failures := p.follower, p.open(1), p.follower.schedule.failures
	err := p.read(ctx, w)
	if err == nil && p.newest > 0 {
		p.limit = follow.Bound
		w = p.open(max(1, min(p.newest, p.began)-f.lookback))
		err = p.read(ctx, w)
	}
	if err != nil {
		f.schedule.failures = failures // pages that were read do not count: all of them are requested again
		return err
	}
	slices.Reverse(w.fresh)
	f.progress.SkipListed(w.reached, w.fresh)
	return nil
}
