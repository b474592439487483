package horseracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// A time range is read in parts, the oldest first. Parts adapt to the density of the
// entries: the next one is expected to have half of what it may.
const (
	firstEntries = 30   // that the first part may have: it comes soon
	maxEntries   = 4000 // that a part may have; of what is read too early twice as many are held
)

// maxFailures is how many times in a row a page fails alone before it is skipped, and
// how many polls in a row find nothing before that is believed.
const maxFailures = 6

// firstSkip is how much earlier, in milliseconds, the read continues after a page that
// is skipped. Each further skip is twice as long, until a page is read.
const firstSkip int64 = 60_000

// followLoop is one range over a follower. Its methods report false once the
// range has ended.
type followLoop[T any] struct {
	*Follower[T]
	ctx   context.Context // of the range
	yield func(*T, error) bool
	once  bool      // it ends after one poll, and after an error that is not ErrSkipped
	each  int64     // milliseconds from one entry to the next, as far as is known
	aim   int       // entries that the next part should have
	held  []part[T] // read before what lies below them, newest first
	alone int       // times in a row that a page failed and the newest one was accepted
	skip  int64     // how much to skip for the next page that fails alone

	began atomic.Int64 // when the first response of the poll was sent
}

// part is the result of reading a time range.
type part[T any] struct {
	low, high int64                  // everything from low up to high was read, except the gaps
	entries   []walk.Entry[Entry[T]] // that were not yielded yet, including ties and unreadable ones
	gaps      []gap                  // newest first
	starts    []int64                // of the entries read, those too that were yielded before
}

// gap is a time range with a page that cannot be read. Later, when other entries stand
// above it, the page may begin up to a page further up: that is where reach is.
type gap struct {
	from, to, reach int64
	err             error
}

func (g gap) error(op operation) error {
	return &GapError{From: timestampOf(max(1, g.from)), To: timestampOf(g.reach), Err: g.err, operation: op.String()}
}

// keyOf returns the key of an entry: that of its id, after a ? if it is unreadable, or
// else a hash of its JSON or, of a tie, of its start.
func keyOf[T any](e walk.Entry[Entry[T]]) string {
	switch {
	case e.ID == "":
		return "?" + checksum(cmp.Or(string(e.Value.JSON), strconv.FormatInt(e.Start, 10)))
	case e.Err != nil:
		return "?" + keyOfID(e.ID)
	}
	return keyOfID(e.ID)
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
// Of the entries within Lookback, the newest 1,000 are checked for late results.
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields what finished after the
// follower's position, oldest first, and ends. An error that matches [ErrSkipped] does not
// end it; any other does. Range again, over CatchUp or All, to continue after it.
//
// Without Since and Resume the first CatchUp yields no entry, but finds where to begin:
// save its [Follower.Cursor]. To skip a page that fails alone takes half a minute in one
// process: shorter runs stop there each time.
func (f *Follower[T]) CatchUp(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, true) }

func (f *Follower[T]) follow(ctx context.Context, once bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := mayRange(ctx, f.listing.op(), f.invalid, f.ranging); err != nil {
			yield(nil, err)
			return
		}
		f.ranging = true
		defer func() { f.ranging = false }()
		seen := len(f.state.seen) // is read again
		l := &followLoop[T]{Follower: f, ctx: ctx, yield: yield, once: once, each: f.lookback / int64(max(firstEntries, seen)), aim: firstEntries/8 + seen}
		if f.state.recent != 0 || l.begin() && !once {
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
	return l.emit(nil, err) && !l.once && !errors.Is(err, ErrInvalidArgument) && l.schedule.wait(l.ctx, err)
}

// poll reads everything from recent on, and waits until the next poll is due.
func (l *followLoop[T]) poll() bool {
	l.vanished++ // until an entry is read
	l.began.Store(0)
	for low := l.state.recent; low < walk.Latest; {
		p, ok := l.readPart(low)
		if !ok || !l.deliver(p) {
			return false
		}
		l.measure(p)
		low = p.high
	}
	if l.vanished > 0 && l.vanished <= maxFailures && len(l.state.seen) > 0 {
		return l.fail(fmt.Errorf("%v: the listing is empty, although it was not before", l.listing.op()))
	}
	return !l.once && l.schedule.wait(l.ctx, nil)
}

// begin settles the entries that finished before the follower began. It reads the newest
// ones, then all that start up to Lookback before these.
func (l *followLoop[T]) begin() bool {
	p, ok := l.read(walk.Earliest, walk.Latest, firstEntries, 0)
	if ok && p.low > walk.Earliest {
		p, ok = l.read(p.low-l.lookback, walk.Latest, maxSeen, 0)
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
		l.state.seen[cmp.Or(keyOfID(e.ID), keyOf(e))] = e.Start
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

// readPart reads a part that begins at low. If it has too many entries, what was read of
// it is held, and the lower half of the rest is read. While it has none the next range is
// read, a longer one: that what lies below is empty is read again in the end.
func (l *followLoop[T]) readPart(low int64) (p part[T], ok bool) {
	bottom, top := low, int64(walk.Latest)
	if last := len(l.held) - 1; last >= 0 {
		if p, top = l.held[last], l.held[last].low; top == low {
			l.held = l.held[:last]
			return p, true
		}
	}
	for bottom < top {
		high, limit, trusted := l.end(bottom, top), l.limit(), int64(0)
		if high < walk.Latest {
			trusted = high
		}
		if bottom > low && limit <= firstEntries { // it is read again
			trusted = bottom
		}
		p, ok = l.read(bottom, high, limit, trusted)
		switch isEmpty := len(p.starts) == 0 && len(p.gaps) == 0; {
		case !ok || p.low == low && (!isEmpty || high == walk.Latest):
			return p, ok
		case p.low > bottom:
			if top = p.low; limit > firstEntries {
				l.hold(p)
			}
			l.aim = max(1, l.aim/2)
			l.each = (top - bottom) / int64(2*l.aim)
		case isEmpty:
			bottom, l.each = high, 64*l.each
		case limit > firstEntries:
			l.hold(p)
			top = bottom
		default:
			l.each = (high - bottom) / int64(8*max(1, len(p.starts))) // what measure allows at most
			bottom, top = high, high
		}
	}
	if p, ok = l.read(low, top, l.limit(), 0); ok && p.low > low {
		l.hold(p)
		return l.readPart(low)
	}
	return p, ok
}

// end returns where a part ends that begins at low, at most at top. The newest part, which
// is read one page at a time, has little more than Lookback.
func (l *followLoop[T]) end(low, top int64) int64 {
	l.each = min(max(1, l.each), walk.Latest/maxEntries/64)
	high := min(top, low+l.each*int64(l.aim))
	if recent := l.clock.Load() - l.lookback; top == walk.Latest && low+pageSize*l.each < recent {
		return min(high, recent)
	} else if top == walk.Latest {
		return top
	}
	return high
}

// limit returns how many entries the next part may have, or those of one page.
func (l *followLoop[T]) limit() int {
	return max(min(8*l.aim, maxEntries), min(len(l.tiers)*pageSize, firstEntries)-1)
}

// hold keeps a part that was read before what lies below it. If too much is held, the
// newest is read again.
func (l *followLoop[T]) hold(p part[T]) {
	l.held = append(l.held, p)
	n := 0
	for i, p := range slices.Backward(l.held) {
		if n += len(p.starts); n > 2*maxEntries {
			l.held = slices.Delete(l.held, 0, i+1)
			return
		}
	}
}

// measure adapts the next part to the density of one. Where that falls it may soon rise.
func (l *followLoop[T]) measure(p part[T]) {
	if n := len(p.starts); p.high < walk.Latest {
		l.each = min((p.high-p.low)/int64(max(n, 1)), 8*l.each)
		l.aim = max(l.aim, min(8*n, maxEntries/2))
	}
}

// read reads the entries that start at low or later, and before high, newest first,
// until there are more than limit that do not all share a start. A page that fails is
// requested again with backoff, or skipped if it fails alone. Unless trusted is zero, an
// empty page from there on is believed at once.
func (l *followLoop[T]) read(low, high int64, limit int, trusted int64) (p part[T], ok bool) {
	p, l.skip = part[T]{low: high, high: high}, firstSkip
	pager := l.pager(low, high, limit, trusted)
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
		from := l.state.gapAt(p.low)
		if from == p.low && l.alone < maxFailures {
			_ = transport.Sleep(l.ctx, time.Second<<(l.alone-1))
			continue
		}
		if from == p.low { // no such gap was reported
			from, l.skip = p.low-l.skip, 2*l.skip
		}
		p.skip(gap{max(low, from), p.low, p.reach(len(l.tiers) * pageSize), failed})
		pager = l.pager(low, p.low, limit, 0)
		l.vanished = 0
	}
}

// readOn adds what a pager reads to a part, until all from low on was read, or enough.
// It returns the error of a page that fails.
func (l *followLoop[T]) readOn(pager *Pager[T], p *part[T], low int64, limit int) error {
	for e := range pager.entries(l.ctx) {
		if e.Err != nil && !errors.Is(e.Err, ErrSkipped) {
			return e.Err
		}
		l.schedule.failures, l.alone, l.vanished, l.skip = 0, 0, 0, firstSkip
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
func (l *followLoop[T]) pager(low, high int64, limit int, trusted int64) *Pager[T] {
	q := ResultsQuery{Since: time.UnixMilli(low)}
	if l.tiers[0] != 0 {
		q.Tiers = l.tiers
	}
	if high < walk.Latest {
		q.Before = time.UnixMilli(high)
		if limit > firstEntries {
			q.Concurrency = l.query.Concurrency
		}
	}
	p := newTimePager(q, l.listing)
	p.listing.order, p.listing.trusted = pace.Poll, trusted
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
	} else if _, err := l.pager(l.clock.Load(), walk.Latest, 0, 0).Take(l.ctx, 1); err != nil && !errors.Is(err, ErrSkipped) {
		l.alone = 0
	}
	return l.alone > 0
}

// reach returns up to where the page below p.low may begin when as many entries as pages
// hold stand above it.
func (p *part[T]) reach(entries int) int64 {
	if n := len(p.starts) - entries; n >= 0 {
		return p.starts[n] + 1
	}
	return p.low
}

// skip moves p.low to the lower end of a gap. Directly below another gap it extends that.
func (p *part[T]) skip(g gap) {
	if last := len(p.gaps) - 1; last >= 0 && p.gaps[last].from == p.low {
		p.gaps[last].from = g.from
	} else {
		p.gaps = append(p.gaps, g)
	}
	p.low = g.from
}

// wasYielded reports whether an entry was yielded, or the error of an unreadable one.
func (l *followLoop[T]) wasYielded(e walk.Entry[Entry[T]]) bool {
	_, whole := l.state.seen[keyOfID(e.ID)]
	_, same := l.state.seen[keyOf(e)]
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
		if l.ctx.Err() != nil {
			return false
		}
		if i%maxSeen == 0 {
			l.state.trim()
		}
		l.state.seen[keyOf(e)] = e.Start
		if !l.emit(e.Value.Value, e.Err) {
			return false
		}
	}
	l.state.trim()
	return true
}

func (l *followLoop[T]) yieldGap(g gap) bool {
	if l.ctx.Err() != nil {
		return false
	}
	l.state.addGap(g.from, g.reach)
	return l.emit(nil, g.error(l.listing.op()))
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

// gapMark begins the key of a gap that was reported, before its lower end. Its upper end
// stands for its start.
const gapMark = "!"

// maxSeen bounds a cursor's text, and memory: if more was seen, recent rises.
const maxSeen = 1000

const maxNumber = len("-9223372036854775808")

// keyOfID returns the key of an entry with an id: the number of a race, or a hash of a
// tournament's id, which may be any text.
func keyOfID(id string) string {
	if len(id) <= maxNumber && strings.Trim(id, "-0123456789") == "" {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return "#" + hex.EncodeToString(hash[:8])
}

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

// trim forgets all but the newest, if there are too many.
func (s *followState) trim() {
	if n := len(s.seen); n > maxSeen {
		s.advance(slices.Sorted(maps.Values(s.seen))[n-maxSeen])
	}
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
