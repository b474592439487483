package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// The routes that return races.
const (
	routeOpenRaces = "/api/v1/races/open"
	routeRace      = "/api/v1/races/{raceId}"
	routeResults   = "/api/v2/races/results"
	routeResultsV1 = "/api/v1/races/results"
)

// RacesService reads races, polls for changes, and registers horses. It is
// [Client.Races].
type RacesService struct{ *backend }

// Race is a race, open or finished. Which fields are set depends on the listing: ObjectID is
// set on open races only, FinalOrder and Winners are set on finished ones only, and a
// race of [RacesService.ResultsV1] lacks Type and may lack its levels. What V2 and
// NoEquipment mean is undocumented.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#24-race
type Race struct {
	ObjectID             string            `json:"_id,omitzero"`                 // empty on finished races; no method takes it
	MainRaceID           RaceID            `json:"main_race_id" decode:"strict"` // the id for Get and Register
	StartTime            Timestamp         `json:"start_time,omitzero" decode:"strict"`
	RegistrationDeadline Timestamp         `json:"registration_deadline,omitzero" decode:"strict"`
	Type                 RaceType          `json:"type,omitzero"` // empty in version 1 results
	Length               int               `json:"length"`        // furlongs
	V2                   bool              `json:"v2"`
	NoEquipment          bool              `json:"no_equipment"`
	EntryFee             BigInt            `json:"entry_fee" decode:"strict"` // may exceed 10^18; see BigInt for the unit
	Prizes               []Number          `json:"prizes,omitzero"`           // one for each prize place, in order; unit undocumented
	Tier                 TierName          `json:"tier"`
	Info                 RaceInfo          `json:"info"`
	Places               int               `json:"places" decode:"strict"`                // capacity; see FreePlaces
	MinLevel             int               `json:"min_level,omitzero" decode:"strict"`    // zero if absent
	MaxLevel             int               `json:"max_level,omitzero" decode:"strict"`    // zero if absent
	Participants         []RaceParticipant `json:"participants,omitzero" decode:"strict"` // empty if there are none yet
	Status               RaceStatus        `json:"status"`
	FinalOrder           []int             `json:"final_order,omitzero" decode:"strict"` // indexes, on finished races; see Finishers
	Winners              []int             `json:"winners,omitzero" decode:"strict"`     // indexes, on finished races; see Winner
}

func (r *Race) id() pathID  { return r.MainRaceID }
func (r *Race) fee() BigInt { return r.EntryFee }

// Finishers returns the participants in the order in which they finished, the winner
// first. It returns nil if the race has no FinalOrder.
//
// FinalOrder is assumed to hold zero-based indexes of Participants, which is
// undocumented. An index that is out of range or repeated is an error.
func (r *Race) Finishers() ([]RaceParticipant, error) {
	if !r.Finished() {
		return nil, nil
	}
	finishers := make([]RaceParticipant, 0, len(r.FinalOrder))
	for place, index := range r.FinalOrder {
		if index < 0 || index >= len(r.Participants) {
			return nil, fmt.Errorf("horseracing: race %d: final_order[%d] is %d, but there are %d participants", r.MainRaceID, place, index, len(r.Participants))
		}
		if slices.Contains(r.FinalOrder[:place], index) {
			return nil, fmt.Errorf("horseracing: race %d: final_order names participant %d twice", r.MainRaceID, index)
		}
		finishers = append(finishers, r.Participants[index])
	}
	return finishers, nil
}

// Finished reports whether the race has a FinalOrder.
func (r *Race) Finished() bool { return len(r.FinalOrder) > 0 }

// isPending reports whether the race lacks its result. One that nobody entered has none.
func (r *Race) isPending() bool { return !r.Finished() && len(r.Participants) > 0 }

// Winner returns the participant that finished first, and reports whether there is
// one. There is none without a FinalOrder, or if [Race.Finishers] returns an error.
func (r *Race) Winner() (RaceParticipant, bool) {
	finishers, err := r.Finishers()
	if err != nil || len(finishers) == 0 {
		return RaceParticipant{}, false
	}
	return finishers[0], true
}

// Has reports whether the horse is among the participants.
func (r *Race) Has(horse HorseNumber) bool {
	return slices.ContainsFunc(r.Participants, func(p RaceParticipant) bool { return p.Number == horse })
}

// RegistrationOpenAt reports whether t is before the registration deadline and the
// race has not finished. The service may have further conditions.
func (r *Race) RegistrationOpenAt(t time.Time) bool {
	return !r.Finished() && t.Before(r.RegistrationDeadline.Time)
}

// FreePlaces returns how many more horses the race can take, never less than zero.
func (r *Race) FreePlaces() int { return max(0, r.Places-len(r.Participants)) }

// AcceptsLevel reports whether a horse of that level may run. A MinLevel or MaxLevel of
// zero does not apply.
func (r *Race) AcceptsLevel(level int) bool {
	return level >= r.MinLevel && (r.MaxLevel == 0 || level <= r.MaxLevel)
}

// CheckEntry returns nil if, as far as is documented, the horse can be registered in the race
// at t. Otherwise the error names every reason why it cannot: registration is closed, no place
// is free, the horse's level is not accepted, or the horse is already in the race. A race
// without an id is refused too, because [RacesService.Get] may have received another race than
// the one that it requested.
//
// If h is nil, only the race is checked. Fees and tiers are not checked. Whether a horse has
// to be of the race's tier is undocumented.
func (r *Race) CheckEntry(h *Horse, t time.Time) error {
	var reasons []string
	if r.MainRaceID == 0 {
		reasons = append(reasons, "it has no id, so it may be another race, with another fee")
	}
	switch {
	case r.Finished():
		reasons = append(reasons, "the race has finished")
	case r.RegistrationDeadline.IsZero():
		reasons = append(reasons, "the race has no registration deadline")
	case !r.RegistrationOpenAt(t):
		reasons = append(reasons, "registration closed at "+r.RegistrationDeadline.Format(instantLayout))
	}
	if r.FreePlaces() == 0 {
		reasons = append(reasons, fmt.Sprintf("none of its %d places is free", r.Places))
	}
	if h != nil && !r.AcceptsLevel(h.Level) {
		accepted := fmt.Sprintf("%d or above", r.MinLevel)
		if r.MaxLevel != 0 {
			accepted = fmt.Sprintf("%d to %d", r.MinLevel, r.MaxLevel)
		}
		reasons = append(reasons, fmt.Sprintf("level %d of horse %d is not accepted (%s)", h.Level, h.Number, accepted))
	}
	if h != nil && r.Has(h.Number) {
		reasons = append(reasons, fmt.Sprintf("horse %d is already in it", h.Number))
	}
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("horseracing: race %d: %s", r.MainRaceID, strings.Join(reasons, "; "))
}

// reserve makes room for the horses of a usual race. Slices that grow with each of them take
// half of the allocations of a page.
func (r *Race) reserve() {
	const horses = 12
	r.Participants, r.FinalOrder = make([]RaceParticipant, 0, horses), make([]int, 0, horses)
}

// release drops the room of members that are absent. An empty array has left none.
func (r *Race) release() {
	if len(r.Participants) == 0 && cap(r.Participants) > 0 {
		r.Participants = nil
	}
	if len(r.FinalOrder) == 0 && cap(r.FinalOrder) > 0 {
		r.FinalOrder = nil
	}
}

// RaceInfo names a race and where it is run. The values of HippodromeType and Turf
// are undocumented.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#24-race
type RaceInfo struct {
	Name           string `json:"name"`
	HippodromeType string `json:"hippodrome_type"`
	HippodromeName string `json:"hippodrome_name"`
	Turf           string `json:"turf"`
}

// RaceParticipant is a horse in a race.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#24-race
type RaceParticipant struct {
	Number HorseNumber `json:"number" decode:"strict"`
	Total  float64     `json:"total,omitzero"` // race time score, or zero if there is none yet; unit undocumented
	Lane   int         `json:"lane,omitzero"`  // zero if absent, as on open races
}

// Registration holds the parameters of [RacesService.Register]. All fields are
// required.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#49-registering-a-horse
type Registration struct {
	Horse   HorseNumber
	Race    RaceID  // the race's MainRaceID
	UserKey UserKey // the key of the horse's owner
}

// RegistrationReceipt is the response that confirms a registration. Its shape is
// undocumented, so the body is kept as received. Printing or logging a receipt omits the body, which may
// contain keys.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#49-registering-a-horse
type RegistrationReceipt struct {
	StatusCode int             // from 200 to 299
	Body       json.RawMessage // nil unless the response is JSON
}

// Format prints a summary without the body, which may contain keys.
func (r RegistrationReceipt) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Body:%d bytes}", r.StatusCode, len(r.Body))
}

// LogValue returns a summary without the body, which may contain keys.
func (r RegistrationReceipt) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// Open returns all open races. The list may be empty. A race without an id is an entry that
// cannot be read; see [WithSkipHandler]. [RacesService.Watch] reports how the races change.
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Open(ctx context.Context, opts ...CallOption) ([]Race, error) {
	op := operation{method: http.MethodGet, route: routeOpenRaces, problemOf: noRaceID}
	return getList[Race](ctx, backendOf(s), op, opts)
}

// noRaceID returns an error for an open race without an id, since nothing distinguishes it from others.
func noRaceID(race any) *readError {
	if race.(*Race).MainRaceID != 0 {
		return nil
	}
	return &readError{"/main_race_id", errors.New("a race without an id cannot be distinguished from others")}
}

// Get returns the race with the given MainRaceID, open or finished. If there is none, the
// error matches ErrNotFound. If the response contains other races instead, the error is a
// [*DecodeError] that names one of them. If several races have that id, Get returns the one
// with the highest entry fee.
//
// If the response is a single race without an id, Get returns it. It may be another race than
// the one requested, so [Race.CheckEntry] refuses it.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Get(ctx context.Context, id RaceID, opts ...CallOption) (*Race, error) {
	return getEntry[Race](ctx, backendOf(s), raceOperation(id), opts)
}

func raceOperation(id RaceID) operation {
	return operation{method: http.MethodGet, route: routeRace, id: id}
}

// Register enters a horse into a race and spends the entry fee. The service has no
// idempotency key, so Register retries only if the request certainly had no effect: no
// connection was made, or the status was 429.
//
// The shape of the response is undocumented, so the status decides. A status 2xx confirms the
// registration whatever its body says, with these exceptions, after which the outcome is
// unknown:
//
//   - status 202
//   - a body that is truncated, too large, HTML or XML, or that begins with { and is not JSON
//   - a body that is not text, such as one that is compressed without a Content-Encoding, or UTF-16
//   - a body that is false, or an object whose success or ok is false, or whose error or
//     errors is not empty
//
// A status 4xx other than 408 and 499 is a refusal, and the error is an [*APIError]. This
// call did not register the horse, but an earlier one may have.
//
// After anything else the outcome is unknown: a broken connection, a timeout, or another
// status. Then errors.Is finds ErrOutcomeUnknown and the cause, and the fee may have been
// paid. Call [RacesService.Registered] before registering again, and count the fee as paid
// until it returns false.
//
// If ctx ends, the call returns at once, even if the request is under way; the outcome is then
// unknown. The Register method of package ledger waits for the response instead.
//
// POST /api/v1/races/register:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#49-registering-a-horse
func (s *RacesService) Register(ctx context.Context, r Registration, opts ...CallOption) (*RegistrationReceipt, error) {
	op := operation{method: http.MethodPost, route: "/api/v1/races/register", hint: "call Races.Registered before registering again"}
	op.misuse = cmp.Or(r.Horse.problem(), r.Race.problem(), r.UserKey.problem())
	op.body = struct {
		Horse   HorseNumber `json:"horse_number"`
		UserKey UserKey     `json:"user_key"`
		Race    RaceID      `json:"main_race_id"`
	}{r.Horse, r.UserKey, r.Race}
	receipt := new(RegistrationReceipt)
	if err := backendOf(s).do(ctx, op, receipt, opts); err != nil {
		return nil, err
	}
	return receipt, nil
}

// decode reads a response with a status 2xx. It returns an error if that does not confirm the
// registration. An object that declares an error is an error of every call.
func (r *RegistrationReceipt) decode(resp *response) error {
	switch {
	case resp.status == http.StatusAccepted:
		return resp.decodeError(&readError{err: errors.New("status 202 means that the horse is not registered yet")})
	case transport.IsHTML(resp.body):
		return resp.decodeError(&readError{err: transport.ErrHTML})
	case !isText(resp.body):
		return resp.decodeError(&readError{err: errors.New("it is not text, but compressed or of another encoding")})
	}
	body := bytes.Trim(resp.body, space)
	object := map[string]jsontext.Value{}
	if bytes.HasPrefix(body, []byte("{")) {
		if err := read(body, &object, lenientUTF8); err != nil { // it may be cut
			return resp.decodeError(err)
		}
	}
	for _, value := range []jsontext.Value{body, object["success"], object["ok"]} {
		if string(value) == "false" {
			return resp.decodeError(&readError{err: errors.New("it denies the registration")})
		}
	}
	r.StatusCode = resp.status
	if jsontext.Value(resp.body).IsValid(anySyntax) {
		r.Body = resp.body
	}
	return nil
}

// isText reports whether a body may be text in UTF-8 or a similar encoding. It has no NUL then, and
// does not begin as gzip or zlib, or with a mark of UTF-16.
func isText(body []byte) bool {
	for _, start := range []string{"\x1f\x8b", "\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(body, []byte(start)) {
			return false
		}
	}
	return bytes.IndexByte(body, 0) < 0
}
