package horseracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// What a poll reads comes in parts, the oldest first, although the listing shows the
// newest first: a part with more entries than it may have is held, and what is below it
// is read before.
const (
	firstLimit = pageSize - 1 // entries that the first part of a poll may have: it comes soon
	growth     = 12           // how many times as many entries the next part is to have
	maxAim     = 2000         // entries that a part is to have
	maxHeld    = 7000         // entries that are held; a part may have half of what is left of it
	maxProbes  = 4            // requests in flight at once while the first entry is looked for
)

// maxFailures is how many times in a row a page fails alone before it is skipped.
const maxFailures = 6

// firstSkip is how long, in milliseconds, a gap is at first. While the page below it cannot
// be read either, it doubles: a page of a quiet listing spans months.
const firstSkip int64 = 60_000

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop[T any] struct {
	*Follower[T]
	ctx       context.Context // of the range
	yield     func(*T, error) bool
	isOnePoll bool // it ends after one poll, and after an error that is not ErrSkipped

	aim     int                    // entries that the next part is to have
	step    int64                  // milliseconds that the next part spans; 0 up to the newest entry
	first   int64                  // nothing is expected to start before it
	held    []part[T]              // read before what is below them, newest first
	alone   int                    // times in a row that a page failed and the newest one was accepted
	found   bool                   // this poll has read an entry, or skipped a page
	pending []walk.Entry[Entry[T]] // read by this poll, and held back for their results

	began atomic.Int64 // when the first response of the poll was sent
}

// part is the result of reading a time range.
type part[T any] struct {
	low, high int64                  // everything from low up to high was read, except the gaps
	entries   []walk.Entry[Entry[T]] // that were not yielded yet, including ties and unreadable ones
	gaps      []gap                  // newest first
	starts    []int64                // of the entries read, those too that were yielded before
}

// gap is a time range with a page that cannot be read. Later, when other entries are
// above it, the page may start up to a page further up, at reach.
type gap struct {
	from, to, reach int64
	err             error
}

func (g gap) error(op operation) error {
	return &GapError{From: timestampOf(max(1, g.from)), To: timestampOf(g.reach), Err: g.err, operation: op.String()}
}

// All yields what finished after the follower's position, oldest first, and polls
// for new ones. An entry that finishes late comes after entries that started later. The loop
// ends when ctx is done, without an error. No request is made while its body runs.
//
// An error comes with a nil entry. It does not end the loop, unless it matches
// ErrInvalidArgument. After a failed poll there is a backoff of up to five minutes. An
// outage costs no entry; while the service refuses requests, its error comes every 10 to
// 15 minutes.
//
// Errors that match [ErrSkipped] report what is missing: an entry that cannot be read is a
// [*DecodeError], once; a page that fails alone, six times in about half a minute, is
// skipped with a [*GapError], which comes again if the gap grows; an instant with too
// many entries is a [*TieOverflowError]. Entries that can be read later, within Lookback,
// are yielded then.
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
// follower's position, oldest first, and ends. An error that matches [ErrSkipped] does not
// end it; any other does. Range again, over CatchUp or All, to continue after it.
//
// Without Since and Resume the first CatchUp yields no entry, but finds where to start:
// store the [Follower.Cursor] after it. To skip a page that fails alone takes half a minute in one
// process: shorter runs stop there each time.
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
		if f.state.recent != 0 || l.begin() && !isOnePoll {
			for l.poll() {
			}
		}
	}
}

func (l *followLoop[T]) emit(value *T, err error) bool {
	return l.ctx.Err() == nil && l.yield(value, err)
}

// fail yields the error of a failed request or poll, and waits until the next one is due.
func (l *followLoop[T]) fail(err error) bool {
	return l.emit(nil, err) && !l.isOnePoll && !errors.Is(err, ErrInvalidArgument) && l.schedule.wait(l.ctx, err)
}

// begin settles the entries that finished before the follower began. It reads the newest
// ones, then all that start up to Lookback before these.
func (l *followLoop[T]) begin() bool {
	p, ok := l.read(0, walk.Latest, firstLimit)
	if ok && p.low > 0 {
		p, ok = l.read(max(0, p.low-l.lookback), walk.Latest, maxSeen)
	}
	if !ok {
		return false
	}
	l.state.advance(max(1, p.low))               // no entry starts before that
	if len(p.entries) == 0 && len(p.gaps) == 0 { // an empty listing: what is older than Lookback is not new
		l.state.advance(l.clock.Load() - l.lookback)
	}
	for _, e := range p.entries {
		l.advance(e.Start)
		if !l.isPending(e) { // an unreadable entry is old too, and may be readable later
			e.Err = nil
			l.state.seen[keyOf(e)] = e.Start
		}
	}
	for _, g := range slices.Backward(p.gaps) { // what is in it is old, and may be readable later
		g.from = min(g.from, max(l.state.recent, l.clock.Load()-l.lookback))
		l.state.advance(g.to)
		if !l.yieldGap(g) {
			return false
		}
	}
	return true
}

// poll reads everything from recent on, and waits until the next poll is due.
func (l *followLoop[T]) poll() bool {
	l.found, l.listing.shown = false, walk.Shown{}
	l.began.Store(0)
	l.aim, l.step, l.first, l.pending = firstLimit, 0, 0, nil
	for low := l.state.recent; low < walk.Latest; {
		p, ok := l.next(low)
		if !ok || !l.deliver(p) {
			return false
		}
		low = p.high
	}
	if !l.found && len(l.state.seen) > 0 {
		return l.fail(fmt.Errorf("%v: the listing is empty, although it was not before", l.listing.op()))
	}
	return !l.isOnePoll && l.schedule.wait(l.ctx, nil)
}

// next returns the part that starts at low. A part that turns out to have too many
// entries is held, and what is below it is read first.
func (l *followLoop[T]) next(low int64) (p part[T], ok bool) {
	for top := int64(walk.Latest); ; top = p.low {
		if last := len(l.held) - 1; last >= 0 {
			if p, top = l.held[last], l.held[last].low; top == low {
				l.held = l.held[:last]
				return p, true
			}
		}
		high := top
		if l.step > 0 {
			high = min(top, max(low, l.first)+l.step)
		}
		if p, ok = l.read(low, high, l.limit()); !ok {
			return p, false
		}
		if p.low > low {
			l.held = append(l.held, p)
		}
		if l.step > 0 {
			l.measure(p)
		} else if seen := int64(len(l.state.seen)); p.low > low && seen > 0 {
			l.step = l.lookback + l.lookback*firstLimit/2/seen // what was yielded, and a few
		} else if p.low > low {
			l.findFirst(low, p.low)
		}
		if p.low == low {
			return p, true
		}
	}
}

// measure chooses how long the next part is, from how many entries the last one had. Where
// there were few there may be many: it spans at most four times as long, or more while
// parts grow.
func (l *followLoop[T]) measure(p part[T]) {
	span, n, longer := p.high-max(p.low, l.first), int64(len(p.starts)), int64(4)
	if aim := min(growth*l.aim, maxAim); n > 0 {
		longer, l.aim = 4*int64(aim)/int64(l.aim), aim
	}
	l.step = max(1, min(span*int64(l.aim)/max(1, n), longer*span))
}

// limit returns how many entries the next part may have.
func (l *followLoop[T]) limit() int {
	if l.aim == firstLimit {
		return firstLimit
	}
	left := maxHeld
	for _, p := range l.held {
		left -= len(p.starts)
	}
	return max(firstLimit+1, left/2)
}

// findFirst looks for the first entry that starts between low and top, so that the next
// part ends shortly after it. That nothing starts before is read again, with that part.
func (l *followLoop[T]) findFirst(low, top int64) {
	probes := make([]probe, min(max(1, l.query.Concurrency), maxProbes))
	for isLast := false; !isLast && top-low > time.Second.Milliseconds() && l.ctx.Err() == nil; {
		between := (top - low) / int64(len(probes)+1)
		var requests sync.WaitGroup
		for i := range probes {
			requests.Go(func() { probes[i] = l.probe(low + between*int64(i+1)) })
		}
		requests.Wait()
		for _, p := range probes {
			if !p.isEmpty {
				top, isLast = p.top, p.isLast
				break
			}
			low += between
		}
	}
	l.first, l.step = low, max(1, top-low)
}

// probe is what the page requested from an instant shows.
type probe struct {
	isEmpty bool
	isLast  bool  // it had room for older entries
	top     int64 // the first entry starts before it
}

func (l *followLoop[T]) probe(at int64) probe {
	p := probe{isEmpty: true, isLast: true, top: at}
	pages := l.pager(walk.Earliest, at, 0).listing
	for source := range l.tiers {
		page, err := pages.fetch(l.ctx, walk.Request{Source: source, At: at, AcceptEmpty: true})
		if err != nil { // the error is that of the next read
			return probe{isLast: true, top: at}
		}
		p.isEmpty = p.isEmpty && len(page) == 0
		p.isLast = p.isLast && len(page) < pageSize
		for _, e := range page {
			if e.ID != "" {
				p.top = min(p.top, e.Start+1)
			}
		}
	}
	if p.isLast {
		p.top = at
	}
	return p
}

// read reads the entries that start at low or later, and before high, newest first,
// until there are more than limit that do not all share a start. A page that fails is
// requested again with backoff, or skipped if it fails alone.
func (l *followLoop[T]) read(low, high int64, limit int) (p part[T], ok bool) {
	p = part[T]{low: high, high: high}
	pager := l.pager(low, high, limit)
	for {
		failed := l.readOn(pager, &p, low, limit)
		if l.ctx.Err() != nil || failed == nil {
			return p, failed == nil
		}
		if p.low == walk.Latest || !l.failsAlone(failed) { // it is the newest page, or others fail too
			if !l.fail(failed) {
				return p, false
			}
			continue
		}
		reported := l.state.gapAt(p.low)
		if reported == p.low && l.alone < maxFailures {
			_ = transport.Sleep(l.ctx, time.Second<<(l.alone-1))
			continue
		}
		p.skip(low, reported, p.reach(len(l.tiers)*pageSize), failed)
		pager = l.pager(low, p.low, limit)
		l.found = true
	}
}

// readOn adds what a pager reads to a part, until all from low on was read, or enough.
// It returns the error of a page that fails.
func (l *followLoop[T]) readOn(pager *Pager[T], p *part[T], low int64, limit int) error {
	for e := range pager.entries(l.ctx) {
		if e.Err != nil && !errors.Is(e.Err, ErrSkipped) {
			return e.Err
		}
		l.schedule.failures, l.alone, l.found = 0, 0, true
		l.hasResults = l.hasResults || e.Err == nil && l.listing.hasResult != nil && l.listing.hasResult(e.Value.Value)
		if e.ID != "" {
			e.Value.JSON = nil // only the key of an entry without an id needs it
		}
		p.starts = append(p.starts, e.Start)
		p.low = e.Start + 1 // others may share the start
		if !l.wasYielded(e) {
			p.entries = append(p.entries, e)
		}
		if len(p.entries) > limit && low < e.Start && p.low < p.high {
			p.entries = slices.DeleteFunc(p.entries, func(e walk.Entry[Entry[T]]) bool { return e.Start < p.low })
			p.starts = slices.DeleteFunc(p.starts, func(start int64) bool { return start < p.low })
			return nil
		}
	}
	p.low = low
	return nil
}

// pager returns a pager of the entries that start at low or later, and before high, to
// read about limit of them.
func (l *followLoop[T]) pager(low, high int64, limit int) *Pager[T] {
	q := ResultsQuery{Since: time.UnixMilli(low)}
	if l.tiers[0] != 0 {
		q.Tiers = l.tiers
	}
	if high < walk.Latest {
		q.Before = time.UnixMilli(high)
	}
	q.Concurrency = min(l.query.Concurrency, 1+limit/50)
	p := newTimePager(q, l.listing)
	p.listing.order = pace.Poll
	p.listing.responded = func(t time.Time) {
		l.clock.Store(t.UnixMilli())
		l.began.CompareAndSwap(0, t.UnixMilli())
	}
	return p
}

// failsAlone reports whether the newest page is accepted while another one fails, and
// counts such failures in a row. A refusal is none.
func (l *followLoop[T]) failsAlone(err error) bool {
	l.alone++
	if refused, ok := errors.AsType[*APIError](err); ok && (refused.StatusCode == http.StatusTooManyRequests || refused.StatusCode == http.StatusServiceUnavailable) {
		l.alone = 0
	} else if _, err := l.pager(l.clock.Load(), walk.Latest, 0).Take(l.ctx, 1); err != nil && !errors.Is(err, ErrSkipped) {
		l.alone = 0
	}
	return l.alone > 0
}

// reach returns up to where the page below p.low may start if as many entries as a page
// has are above it.
func (p *part[T]) reach(entries int) int64 {
	if n := len(p.starts) - entries; n >= 0 {
		return p.starts[n] + 1
	}
	return p.low
}

// skip moves p.low below a page that fails, to the lower end of its gap: that of the gap
// at p.low which was reported, or a minute lower, or if the gap continues another one by as
// much as that spans.
func (p *part[T]) skip(low, reported, reach int64, err error) {
	if n := len(p.gaps); n == 0 || p.gaps[n-1].from > p.low {
		p.gaps = append(p.gaps, gap{from: p.low, to: p.low, reach: reach, err: err})
	}
	g := &p.gaps[len(p.gaps)-1]
	if reported == p.low {
		reported -= max(firstSkip, g.to-g.from)
	}
	g.from = max(low, reported)
	p.low = g.from
}

// wasYielded reports whether an entry was yielded, or the error of an unreadable one.
func (l *followLoop[T]) wasYielded(e walk.Entry[Entry[T]]) bool {
	_, same := l.state.seen[keyOf(e)]
	e.Err = nil
	_, whole := l.state.seen[keyOf(e)]
	return whole || same
}

// advance raises recent to Lookback before the start of an entry, at most to Lookback
// before the poll began: a poll may take hours, in which entries finish that lie in what
// was read before.
func (l *followLoop[T]) advance(start int64) {
	l.state.advance(min(start, l.began.Load()) - l.lookback)
}

// deliver yields the gaps of a part that were not reported, then its entries, the
// oldest first.
func (l *followLoop[T]) deliver(p part[T]) bool {
	for _, g := range slices.Backward(p.gaps) {
		if l.state.gapAt(g.to) > g.from && !l.yieldGap(g) {
			return false
		}
	}
	slices.SortFunc(p.entries, func(a, b walk.Entry[Entry[T]]) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for i, e := range p.entries {
		l.advance(e.Start)
		if i%maxSeen == 0 && !l.trim() {
			return false
		}
		if l.isPending(e) {
			l.pending = append(l.pending, e)
		} else if !l.yieldEntry(e) {
			return false
		}
	}
	return l.trim()
}

// trim bounds what is remembered. Entries that were held back and would not be read
// again are yielded before.
func (l *followLoop[T]) trim() bool {
	first := l.state.firstKept()
	for _, e := range l.pending {
		if l.state.recent <= e.Start && e.Start < first && !l.yieldEntry(e) {
			return false
		}
	}
	l.state.advance(first)
	return true
}

// isPending reports whether an entry is held back: it has no result yet, although others
// have, and starts within Lookback of when the poll began and of the clock, so that the next
// poll reads it again.
func (l *followLoop[T]) isPending(e walk.Entry[Entry[T]]) bool {
	isRecent := l.began.Load()-l.lookback <= e.Start && e.Start-l.lookback <= l.clock.Load()
	return isRecent && l.hasResults && e.Err == nil && !l.listing.hasResult(e.Value.Value)
}

func (l *followLoop[T]) yieldEntry(e walk.Entry[Entry[T]]) bool {
	if l.ctx.Err() != nil {
		return false
	}
	l.state.seen[keyOf(e)] = e.Start
	return l.emit(e.Value.Value, e.Err)
}

func (l *followLoop[T]) yieldGap(g gap) bool {
	if l.ctx.Err() != nil {
		return false
	}
	l.state.addGap(g.from, g.reach)
	return l.emit(nil, g.error(l.listing.op()))
}

// keyOf returns the key of an entry: a hash of its id and start, after a ? if it is
// unreadable. Of an entry without an id it is one of its JSON or, of a tie, of its start.
func keyOf[T any](e walk.Entry[Entry[T]]) string {
	mark, text := "", e.ID+"@"+strconv.FormatInt(e.Start, 36)
	if e.Err != nil {
		mark = "?"
	}
	if e.ID == "" {
		text = cmp.Or(string(e.Value.JSON), text)
	}
	hash := sha256.Sum256([]byte(text))
	return mark + strconv.FormatUint(binary.BigEndian.Uint64(hash[:]), 36)
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

// gapMark starts the key of a reported gap in seen, followed by its lower end. The value is
// its upper end.
const gapMark = "!"

// maxSeen bounds a cursor's text, and memory: if more was seen, recent rises.
const maxSeen = 1000

func newFollowState(recent int64) *followState {
	return &followState{recent: recent, seen: map[string]int64{}}
}

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

// addGap notes that a gap was reported.
func (s *followState) addGap(from, to int64) { s.seen[gapMark+strconv.FormatInt(from, 36)] = to }

// gapAt returns the lower end of the reported gap that ends at an instant or holds it,
// of several the lowest, or the instant itself.
func (s *followState) gapAt(at int64) int64 {
	low := at
	for key, to := range s.seen {
		if text, isGap := strings.CutPrefix(key, gapMark); isGap && at <= to {
			from, _ := strconv.ParseInt(text, 36, 64)
			low = min(low, from)
		}
	}
	return low
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
