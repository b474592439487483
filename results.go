package horseracing

import (
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
)

// ResultsQuery asks for entries of a listing that is paged by start time, newest
// first (interface document, sections 4.5 and 4.10). The zero value asks for all
// of them. What makes no sense (a negative number, a Since after Before, a cursor
// of another listing or tier) is yielded as ErrInvalidArgument when the pager is
// ranged over.
type ResultsQuery struct {
	Tier        TierID    // zero: the service's default (TierOmega)
	Before      time.Time // only entries that start before this; zero: now, by the service's clock
	Since       time.Time // none that start before this; zero: the whole history
	Resume      Cursor    // go on where a saved cursor stopped; zero: from the beginning
	Concurrency int       // requests in flight at once, at most 1,000; 0 and 1: one
}

// OffsetQuery asks for entries of the listing that is paged by offset, newest
// first (interface document, section 4.6). The zero value asks for all of them.
// What makes no sense is yielded as ErrInvalidArgument, as with [ResultsQuery].
type OffsetQuery struct {
	Tier        TierID // zero: the service's default (TierOmega)
	Offset      int    // how many of the newest entries to skip; does not count with Resume
	Resume      Cursor // go on where a saved cursor stopped; zero: from Offset
	Concurrency int    // requests in flight at once, at most 1,000; 0 and 1: one
}

// listing is what a pager must know of a listing.
type listing[T any] struct {
	client *Client
	op     operation
	name   string // in cursors
	tier   TierID
	ask    func(at int64) question
	start  func(*T) Timestamp
	id     func(*T) uint64 // zero: the entry has none
	omega  func(*T) bool   // whether the entry says that it is of tier Omega
}

const maxConcurrency = 1000

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time (GET /api/v2/races/results; interface
// document, section 4.5). Nothing is requested until the pager is ranged over.
// [RacesService.Follow] hands out races as they finish.
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return resultsPager(q, listing[Race]{
		client: s.client, name: "r2", op: operation{method: http.MethodGet, route: "/api/v2/races/results"},
		start: func(r *Race) Timestamp { return r.StartTime },
		id:    func(r *Race) uint64 { return uint64(r.MainRaceID) },
		omega: func(r *Race) bool { return r.Tier == TierNameOmega },
	})
}

// ResultsV1 walks over finished races in version 1 of the listing, which is
// paged by offset and does not show the type (GET /api/v1/races/results;
// interface document, section 4.6). The listing shifts while it is read:
// nothing that stays in it is missed, but an entry can come again where dozens
// arrive on one start, or go, between two pages. Results is the better choice
// where both serve.
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	l := listing[Race]{
		client: s.client, name: "r1", op: operation{method: http.MethodGet, route: "/api/v1/races/results"},
		start: func(r *Race) Timestamp { return r.StartTime },
		id:    func(r *Race) uint64 { return uint64(r.MainRaceID) },
		omega: func(r *Race) bool { return r.Tier == TierNameOmega },
		ask:   func(at int64) question { return ask(q.Tier, "offset", at, at == 0) },
	}
	p := newPager(l, q.Tier, q.Resume, q.Concurrency)
	if q.Offset < 0 {
		p.invalid = l.op.invalid("the offset is negative")
	}
	p.walk = newOffsetWalk[Race](l.op, int64(q.Offset), q.Resume, p.concurrency)
	return p
}

// Results walks over finished tournaments, newest first (GET
// /api/v1/tournaments/results; interface document, section 4.10). Nothing is
// requested until the pager is ranged over.
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return resultsPager(q, listing[Tournament]{
		client: s.client, name: "t1", op: operation{method: http.MethodGet, route: "/api/v1/tournaments/results"},
		start: func(t *Tournament) Timestamp { return t.StartTime },
		id: func(t *Tournament) uint64 {
			if t.ID == "" {
				return 0
			}
			h := fnv.New64a()
			h.Write([]byte(t.ID))
			return max(1, h.Sum64())
		},
		omega: func(t *Tournament) bool { return t.Tier == TierOmega },
	})
}

func resultsPager[T any](q ResultsQuery, l listing[T]) *Pager[T] {
	l.ask = func(at int64) question { return ask(q.Tier, "start_time_from", at, at == latest) }
	p := newPager(l, q.Tier, q.Resume, q.Concurrency)
	before, since := int64(latest), int64(earliest)
	if !q.Before.IsZero() {
		before = ceilMilli(q.Before)
	}
	if !q.Since.IsZero() {
		since = ceilMilli(q.Since)
	}
	if !q.Before.IsZero() && since > before {
		p.invalid = l.op.invalid("Since lies after Before")
	}
	p.walk = newTimeWalk[T](l.op, before, since, q.Resume, p.concurrency)
	return p
}

// question is the body of a request for a page, encoded already.
type question []byte

// ask writes a question, without what is left to the service.
func ask(tier TierID, member string, at int64, leaveOut bool) question {
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

func newPager[T any](l listing[T], tier TierID, resume Cursor, concurrency int) *Pager[T] {
	l.tier = tier
	if tier == 0 {
		l.tier = TierOmega
	}
	p := &Pager[T]{listing: l, concurrency: min(max(1, concurrency), maxConcurrency), resume: resume}
	switch {
	case tier < 0:
		p.invalid = l.op.invalid("the tier is negative")
	case concurrency < 0 || concurrency > maxConcurrency:
		p.invalid = l.op.invalid("the concurrency is not between 0 and 1,000")
	case !resume.IsZero() && (resume.listing != l.name || resume.tier != l.tier):
		p.invalid = l.op.invalid("the cursor to resume from is of another listing or tier")
	}
	return p
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
