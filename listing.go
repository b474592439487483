package horseracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/bson"
	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/listing"
	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// paged declares a paged listing. Each stands beside the methods of its resource, as finishedRaces does.
type paged[T any] struct {
	route     string
	byOffset  bool                                    // pages are requested by offset, not by start time
	pager     string                                  // kind of the cursors of its pagers; no other listing has it
	follower  string                                  // kind of the cursors of its followers, if it has any
	place     func(*T) (start Timestamp, tier TierID) // of an entry; the tier that it names, zero if that is not known
	isPending func(*T) bool                           // reports whether an entry is listed before it has its result, or is nil if none is
	lookback  time.Duration                           // of followers, by default
}

// source is a listing of one tier, as a pager or a follower reads it.
type source[T any] struct {
	paged[T]
	backend  *backend
	tier     TierID // zero is the service's default, which no request names
	priority pace.Priority
}

func (s *source[T]) op() operation {
	return operation{method: http.MethodGet, route: s.route, priority: s.priority, isPage: true, problemOf: s.problemOf}
}

// problemOf returns an error for an entry that has no place in the listing.
func (s *source[T]) problemOf(entry any, id string) *decode.Error {
	if start, _ := s.place(entry.(*T)); id != "" && start.UnixMilli() > 0 {
		return nil
	}
	return &decode.Error{Err: errors.New("an entry without an id or a start time has no position in the listing")}
}

// body returns the body of a request. The service has defaults for absent members.
func (s *source[T]) body(r walk.Request) any {
	var body struct {
		Tier          TierID `json:"tier,omitzero"`
		StartTimeFrom *int64 `json:"start_time_from,omitzero"`
		Offset        int64  `json:"offset,omitzero"`
	}
	if body.Tier = s.tier; s.byOffset {
		body.Offset = r.From
	} else if !r.Newest() {
		body.StartTimeFrom = &r.From
	}
	return body
}

// listing returns the listing as the engine sees it.
func (s source[T]) listing() *listing.Listing[T] {
	return &listing.Listing[T]{Name: s.op().String(), ByOffset: s.byOffset, Page: s.page}
}

// pageRetries is how often a page is retried by default: about half a minute. A walk of hours
// is not to end because of a short failure.
const pageRetries = 10

// page requests a page.
func (s *source[T]) page(ctx context.Context, r walk.Request) ([]listing.Entry[T], error) {
	op := s.op()
	op.body = s.body(r)
	l, err := getEntries[T](ctx, s.backend, op, []CallOption{CallRetry(Retry{Max: s.backend.pageRetries})})
	if err != nil {
		return nil, err
	}
	for i := range l.entries {
		e := &l.entries[i]
		start, tier := s.place(e.Value)
		e.Start, e.NoStart = start.UnixMilli(), start.UnixMilli() <= 0
		if err := s.checkTier(tier); err != nil {
			return nil, err
		}
	}
	return l.entries, nil
}

// checkTier returns an error if the tier of an entry shows that the body of the request was ignored. A
// request that names no tier is for the default one, which the service perhaps does not have.
func (s *source[T]) checkTier(tier TierID) error {
	requested := s.tier.orDefault()
	switch {
	case tier == 0 || tier == requested:
		return nil
	case s.tier == 0:
		return &walk.IgnoredError{How: fmt.Sprintf("the query names no tier, and an entry is of tier %d instead of the default %d: name a tier", tier, requested)}
	}
	return &walk.IgnoredError{How: fmt.Sprintf("tier %d was requested, and an entry is of tier %d", requested, tier)}
}

// explain gives an entry of the engine the value and the error that the caller gets. It reports
// whether the skip handler got the error instead.
func (s *source[T]) explain(ctx context.Context, e *listing.Entry[T]) (isSkipped bool) {
	if e.Err == nil {
		return false
	}
	e.Value, e.Err = nil, s.publicError(e)
	return e.IsOfPart() && s.backend.skip(ctx, e.Err)
}

// publicError returns the error of an entry, or in the place of one, as the caller gets it.
func (s *source[T]) publicError(e *listing.Entry[T]) error {
	ignored, isIgnored := errors.AsType[*walk.IgnoredError](e.Err)
	noPlace, isNoPlace := errors.AsType[*listing.NoPlaceError](e.Err)
	switch {
	case e.Ties > 0:
		return &TieOverflowError{StartTime: timestampOf(e.Start), Seen: e.Ties, operation: s.op().String()}
	case e.Err == walk.ErrEmptied, e.Err == walk.ErrNoOverlap:
		return &DecodeError{Method: http.MethodGet, Route: s.route, Err: e.Err}
	case isIgnored:
		return fmt.Errorf("%v: %w: %s; a proxy or cache drops the bodies of GET requests, or responds with another request's response", s.op(), ErrBodyIgnored, ignored.How)
	case isNoPlace:
		whole := ofResponse(noPlace.Err, "")
		whole.Raw, whole.Err = nil, fmt.Errorf("no entry of the page has a position in the listing: %w", whole.Err)
		return whole
	}
	return e.Err
}

// checkRange returns an error if no loop may start over the listing.
func (s *source[T]) checkRange(ctx context.Context, invalid error, ranging bool) error {
	switch {
	case s.backend == nil:
		return errNotMade
	case invalid != nil:
		return invalid
	case ctx == nil:
		return s.op().invalid(errNilContext)
	case ranging:
		return s.op().invalid(errors.New("another loop is ranging over it"))
	}
	return nil
}

// A Cursor is the position after an entry of a listing. It includes the tier. The cursor of a
// Pager also includes the Since of its query. Pass a Cursor as a query's Resume to continue
// there, in any process and at any Concurrency. It does not expire. If it comes from another
// listing or tier than the one that the query reads, the query fails with ErrInvalidArgument.
// The zero Cursor is the beginning of a listing.
//
// A Pager's cursor leads to older entries only. To read entries that finish later, store the
// cursor of a [Follower].
//
// Store its text together with the entries that were read. The text of a [Pager]'s
// cursor usually takes 100 to 600 bytes; it contains no key, and is checked when
// parsed.
type Cursor struct {
	text string // see listing.CursorText
}

// IsZero reports whether the cursor is the zero Cursor, the beginning of a listing.
func (c Cursor) IsZero() bool { return c.text == "" }

// Equal reports whether both cursors are the same position of the same query.
func (c Cursor) Equal(other Cursor) bool { return c == other }

// String returns the cursor's text; it is empty for the zero Cursor.
func (c Cursor) String() string { return c.text }

// MarshalText returns the cursor's text, for JSON and every other encoding.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText parses the text as [ParseCursor] does.
func (c *Cursor) UnmarshalText(text []byte) error {
	parsed, err := ParseCursor(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}

// newCursor returns the cursor of a listing, with the payload of its kind.
func newCursor(kind string, tier TierID, payload any) Cursor {
	return Cursor{listing.CursorText(kind, int(tier.orDefault()), payload)}
}

// open reads the payload of the cursor, if it is not zero. It returns the tier that a query selects: one
// that names no tier has that of the cursor. The problem is nil if the cursor is of that listing and tier.
func (c Cursor) open(kind string, tier TierID, payload any) (selected TierID, problem error) {
	switch {
	case tier < 0:
		return 0, fmt.Errorf("tier %d is negative", tier)
	case c.IsZero():
		return tier, nil
	}
	saved, problem := listing.OpenCursor(c.text, kind, int(tier), payload)
	return TierID(saved), problem
}

// ParseCursor parses the text of a cursor. The empty text is the zero Cursor. If the
// text is not a cursor, or is damaged, or is from another version of the SDK, the error
// matches ErrInvalidArgument and says so.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	if problem := listing.CheckCursor(text); problem != nil {
		return Cursor{}, fmt.Errorf("horseracing: ParseCursor: %w: %w", ErrInvalidArgument, problem)
	}
	return Cursor{text}, nil
}

// AppendText appends the cursor's text.
func (c Cursor) AppendText(out []byte) ([]byte, error) { return append(out, c.text...), nil }

// MarshalBinary returns the cursor's text.
func (c Cursor) MarshalBinary() ([]byte, error) { return c.MarshalText() }

// UnmarshalBinary parses the text as [ParseCursor] does.
func (c *Cursor) UnmarshalBinary(data []byte) error { return c.UnmarshalText(data) }

// MarshalBSONValue returns the cursor's text as a BSON string.
func (c Cursor) MarshalBSONValue() (kind byte, data []byte, err error) { return bson.Text(c.text) }

// UnmarshalBSONValue parses a BSON string as [ParseCursor] does.
func (c *Cursor) UnmarshalBSONValue(kind byte, data []byte) error {
	return bson.ReadText(c, kind, data)
}

// ProxyBSON returns the cursor's text, for version 1 of the MongoDB driver.
func (c Cursor) ProxyBSON() (any, error) { return c.text, nil }

// UnmarshalBSON parses a BSON string, for version 1 of the MongoDB driver.
func (c *Cursor) UnmarshalBSON(data []byte) error { return bson.ReadText(c, bson.String, data) }
