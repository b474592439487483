package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// pageBody is the body of a page request. The service has defaults for absent members.
type pageBody struct {
	Tier          TierID `json:"tier,omitzero"`
	StartTimeFrom *int64 `json:"start_time_from,omitzero"`
	Offset        *int64 `json:"offset,omitzero"`
}

// pageBody returns the body of a page request: the tier and the start of the page.
func (l *listing[T]) pageBody(r walk.Request) pageBody {
	body := pageBody{Tier: l.tiers[r.Source]}
	switch isOffset := l.kind == cursorRacesV1; {
	case isOffset && r.At > 0:
		body.Offset = &r.At
	case !isOffset && r.At < walk.Latest:
		body.StartTimeFrom = &r.At
	}
	return body
}

// fetch requests one page. An entry that does not fit the request is an error.
func (l *listing[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[Entry[T]], error) {
	op, body := l.op(), l.pageBody(r)
	op.body, op.order, op.patience = body, cmp.Or(l.order, pace.Walk), l.patience
	requested := time.Now()
	page, err := getEntries[T](ctx, l.client, op, nil)
	if err != nil {
		return nil, err
	}
	if l.responded != nil {
		l.responded(responseTime(page.response.Header, requested))
	}
	newest := int64(0)
	if body.StartTimeFrom != nil {
		newest = *body.StartTimeFrom
	}
	entries := make([]walk.Entry[Entry[T]], len(page.entries))
	for i := range entries {
		key := l.key(&page.entries[i].value)
		if tier := l.tier(r.Source); key.omega && tier != TierOmega {
			return nil, walk.IgnoredError(fmt.Sprintf("requested tier %d, got tier %d (Omega)", tier, TierOmega))
		}
		entries[i].ID, entries[i].Start = key.id, key.start.UnixMilli()
		newest = max(newest, entries[i].Start)
	}
	for i := range entries {
		e, from := &entries[i], &page.entries[i]
		if problem, member := unplaced(e.ID, e.Start, newest); problem != "" {
			if e.ID = ""; from.err == nil {
				page.fail(i, op.undecodable(member, 0, errors.New(problem)))
			}
		}
		e.Value.JSON = page.json(i)
		if from.err == nil {
			e.Value.Value = &from.value
		} else {
			e.Err = from.err
		}
	}
	return entries, nil
}

// unplaced returns why an entry cannot be placed among others, of which newest is
// the latest start, and the member that is wrong. The problem is empty if it can.
func unplaced(id string, start, newest int64) (problem, member string) {
	const modern = 1e11 // the year 1973 in milliseconds; a start in seconds is a thousandth of it
	switch {
	case id == "":
		return "an entry without an id cannot be distinguished from others", ""
	case start <= 0:
		return "an entry without a start time cannot be placed", "/start_time"
	case newest >= modern && newest/2000 <= start && start <= newest/500:
		return fmt.Sprintf("the start time %d, in seconds, cannot be placed among others in milliseconds", start), "/start_time"
	}
	return "", ""
}
