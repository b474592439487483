package horseracing

import (
	"hash/fnv"
	"net/http"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// ResultsQuery selects entries of a listing that is paged by start time, newest
// first. The zero value selects all of them. What makes no sense (a negative
// number, a Since after Before, a cursor of another listing or tier) is yielded
// as ErrInvalidArgument when the pager is ranged over.
type ResultsQuery struct {
	Tier        TierID    // zero: the service's default (TierOmega), and no other
	Before      time.Time // only entries that start before this; zero: now, by the service's clock
	Since       time.Time // none that start before this; zero: the whole history
	Resume      Cursor    // go on where a saved cursor stopped; zero: from the beginning
	Concurrency int       // requests in flight at once, at most 1,000; 0 and 1: one
}

// OffsetQuery selects entries of the listing that is paged by offset, newest
// first. The zero value selects all of them. What makes no sense is yielded as
// ErrInvalidArgument, as with [ResultsQuery].
type OffsetQuery struct {
	Tier        TierID // zero: the service's default (TierOmega), and no other
	Offset      int    // how many of the newest entries to skip; ignored with Resume
	Resume      Cursor // go on where a saved cursor stopped; zero: from Offset
	Concurrency int    // requests in flight at once, at most 1,000; 0 and 1: one
}

const maxConcurrency = 1000

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time. Nothing is requested until the pager is
// ranged over. [RacesService.Follow] hands out races as they finish.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newTimePager(q, listing[Race]{client: s.client, kind: cursorRaces, route: "/api/v2/races/results", key: raceKey})
}

// ResultsV1 walks over finished races in version 1 of the listing, which is
// paged by offset and does not show the type. The listing shifts while it is
// read: nothing that stays in it is missed, but an entry can come again where
// dozens arrive on one start, or go, between two pages. Results is the better
// choice where both serve.
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newOffsetPager(q, listing[Race]{client: s.client, kind: cursorRacesV1, route: "/api/v1/races/results", key: raceKey})
}

// Results walks over finished tournaments, newest first. Nothing is requested
// until the pager is ranged over.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return newTimePager(q, listing[Tournament]{client: s.client, kind: cursorTournaments, route: "/api/v1/tournaments/results", key: tournamentKey})
}

// listing is what a pager must know of a listing.
type listing[T any] struct {
	client *Client
	kind   cursorKind
	route  string
	tier   TierID
	paging string // the member that selects a page: start_time_from or offset
	first  int64  // the value of that member that is left to the service
	key    func(*T) entryKey
}

// entryKey is what places an entry in a listing.
type entryKey struct {
	start Timestamp
	id    uint64 // zero: the entry has none
	omega bool   // it says that it is of tier Omega
}

func raceKey(r *Race) entryKey {
	return entryKey{r.StartTime, uint64(r.MainRaceID), r.Tier == TierNameOmega}
}

func tournamentKey(t *Tournament) entryKey {
	if t.ID == "" {
		return entryKey{start: t.StartTime}
	}
	h := fnv.New64a()
	h.Write([]byte(t.ID))
	return entryKey{t.StartTime, max(1, h.Sum64()), t.Tier == TierOmega}
}

func (l *listing[T]) op() operation { return operation{method: http.MethodGet, route: l.route} }

func newTimePager[T any](q ResultsQuery, l listing[T]) *Pager[T] {
	l.paging, l.first = "start_time_from", walk.Latest
	p, resume := newPager(l, q.Tier, q.Resume, q.Concurrency)
	since, before := int64(walk.Earliest), int64(walk.Latest)
	if !q.Since.IsZero() {
		since = ceilMilli(q.Since)
	}
	if !q.Before.IsZero() {
		before = ceilMilli(q.Before)
	}
	if since > before {
		p.invalid = l.op().invalid("Since lies after Before")
	}
	p.walk = walk.NewTime[*T](since, before, resume, p.concurrency, pageSize)
	return p
}

func newOffsetPager[T any](q OffsetQuery, l listing[T]) *Pager[T] {
	l.paging = "offset"
	p, resume := newPager(l, q.Tier, q.Resume, q.Concurrency)
	if q.Offset < 0 {
		p.invalid = l.op().invalid("the offset is negative")
	}
	p.walk = walk.NewOffset[*T](int64(q.Offset), resume, p.concurrency, pageSize)
	return p
}

// newPager returns a pager without a walk, and where that is to begin.
func newPager[T any](l listing[T], tier TierID, resume Cursor, concurrency int) (*Pager[T], *walk.Position) {
	if l.tier = tier; tier == 0 {
		l.tier = TierOmega
	}
	p := &Pager[T]{listing: l, defaultTier: tier == 0, concurrency: min(max(1, concurrency), maxConcurrency), resume: resume}
	switch {
	case tier < 0:
		p.invalid = l.op().invalid("the tier is negative")
	case concurrency < 0 || concurrency > maxConcurrency:
		p.invalid = l.op().invalid("the concurrency is not between 0 and 1,000")
	}
	if resume.IsZero() {
		return p, nil
	}
	payload, ok := resume.payload(l.kind, []TierID{l.tier})
	positions, readable := readPositions(payload)
	if !ok || !readable {
		p.invalid = l.op().invalid("the cursor to resume from is of another listing or tier")
		return p, nil
	}
	return p, &positions[0]
}

// pageBody is the body of a page request, encoded already.
type pageBody []byte

// newPageBody encodes a request for a page of a tier (zero: the service's
// default), from a start or offset on unless that is left to the service.
func newPageBody(tier TierID, member string, at int64, leaveOut bool) pageBody {
	body := make([]byte, 1, 64)
	body[0] = '{'
	if tier != 0 {
		body = append(body, `"tier":`...)
		body = strconv.AppendInt(body, int64(tier), 10)
	}
	if !leaveOut {
		if tier != 0 {
			body = append(body, ',')
		}
		body = append(append(append(body, '"'), member...), `":`...)
		body = strconv.AppendInt(body, at, 10)
	}
	return append(body, '}')
}

// ceilMilli rounds up to the millisecond, for both ends of a range: an entry
// starts on a whole one.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}
