package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/pace"
)

// RacesService reads races, polls for changes, and registers horses.
type RacesService struct{ *backend }

// Race is a race, open or finished. A race of [RacesService.ResultsV1] may lack its levels. What V2 and
// NoEquipment mean is undocumented.
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

// Finishers returns the participants in the order in which they finished, or nil without a FinalOrder.
// That is assumed to hold zero-based indexes of Participants. One that is out of range or repeated is
// an error.
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

// Winner returns the first of [Race.Finishers], if there is one.
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

// RegistrationOpenAt reports whether t is before the registration deadline and the race has not
// finished.
func (r *Race) RegistrationOpenAt(t time.Time) bool {
	return !r.Finished() && t.Before(r.RegistrationDeadline.Time)
}

// FreePlaces returns how many more horses the race can take.
func (r *Race) FreePlaces() int { return max(0, r.Places-len(r.Participants)) }

// AcceptsLevel reports whether a horse of that level may run.
func (r *Race) AcceptsLevel(level int) bool {
	return level >= r.MinLevel && (r.MaxLevel == 0 || level <= r.MaxLevel)
}

// CheckEntry returns nil if, as far as is documented, the horse can be registered in the race at t,
// and otherwise an error that names every reason. If h is nil, only the race is checked. Fees and
// tiers are not checked. A race without an id is refused, because it may be another one than
// [RacesService.Get] requested.
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

// roomForHorses makes room for the horses of a usual race. Slices that grow with each of them take
// half of the allocations of a page.
var roomForHorses = json.WithUnmarshalers(json.JoinUnmarshalers(roomFor[RaceParticipant](12), roomFor[int](12)))

func roomFor[T any](n int) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(_ *jsontext.Decoder, out *[]T) error {
		*out = make([]T, 0, n)
		return errors.ErrUnsupported // the rest is as usual
	})
}

// RaceInfo names a race and where it is run.
type RaceInfo struct {
	Name           string `json:"name"`
	HippodromeType string `json:"hippodrome_type"`
	HippodromeName string `json:"hippodrome_name"`
	Turf           string `json:"turf"`
}

// RaceParticipant is a horse in a race.
type RaceParticipant struct {
	Number HorseNumber `json:"number" decode:"strict"`
	Total  float64     `json:"total,omitzero"` // race time score, or zero if there is none yet; unit undocumented
	Lane   int         `json:"lane,omitzero"`  // zero if absent, as on open races
}

// Open returns all open races, perhaps none. A race without an id cannot be read; see
// [WithSkipHandler].
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Open(ctx context.Context, opts ...CallOption) ([]Race, error) {
	return getList[Race](ctx, s, openRaces, opts)
}

var openRaces = operation{
	method: http.MethodGet, route: "/api/v1/races/open",
	withoutID: &decode.Error{Field: "/main_race_id", Err: errors.New("a race without an id cannot be distinguished from others")},
}

// Get returns the race with the given MainRaceID, open or finished. If there is none, the error
// matches ErrNotFound. Of several races with that id, Get returns the one with the highest entry fee,
// and a single race without an id as it is; see [Race.CheckEntry].
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Get(ctx context.Context, id RaceID, opts ...CallOption) (*Race, error) {
	return getEntry[Race](ctx, s, raceOperation(id), opts)
}

func raceOperation(id RaceID) operation {
	return operation{method: http.MethodGet, route: "/api/v1/races/{raceId}", id: id}
}

// Register enters a horse into a race and spends the entry fee. It retries only if the request
// certainly had no effect: no connection was made, or the status was 429.
//
// A status 2xx confirms the registration whatever its body says, except for status 202, a body that is
// truncated, too large, HTML, XML or not text, or that begins with { and is not JSON, and a body that
// is false, or an object whose success or ok is false, or whose error or errors is not empty.
//
// A status 4xx other than 408 and 499 is a refusal, and the error is an [*APIError]: this call did not
// register the horse, but an earlier one may have.
//
// After anything else, such as a broken connection, a timeout, or the end of ctx during the request,
// errors.Is finds ErrOutcomeUnknown and the cause, and the fee may have been paid. Call
// [RacesService.Registered] before registering again, and count the fee as paid until it returns
// false. The Register method of package ledger does both.
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
	if err := backendOf(s).do(ctx, op, receipt.decode, opts); err != nil {
		return nil, err
	}
	return receipt, nil
}

// Registered reads the race once and reports whether the horse is registered. Call it after a
// registration that ended with ErrOutcomeUnknown, and register the horse again only if it returns
// false and a nil error.
//
// It returns true if the race lists the horse. It returns false if the race lists other horses only,
// and has a final order of all of them, or was read at least an hour after its registration deadline
// and its start, when its list is assumed to be complete.
//
// Otherwise the error is an [*UndecidedError], which matches ErrOutcomeUnknown. Its RetryAt is when
// another call can decide, by the service's clock: usually an hour or two after the race has closed. It
// is zero if none can, for example because the race does not exist, or lists no horse two hours after
// it closed. Then only the game shows whether the fee is paid.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Registered(ctx context.Context, race RaceID, horse HorseNumber, opts ...CallOption) (bool, error) {
	op := raceOperation(race)
	op.noCache, op.misuse = true, horse.problem()
	requested := time.Now()
	l, err := getEntries[Race](ctx, backendOf(s), op, opts)
	if err != nil {
		return false, failedReading(err)
	}
	return isRegistered(l, race, horse, responseTime(l.Header, requested))
}

// Watch polls the open races until ctx is done, and yields a snapshot after each poll. The first
// reports changes since Last, or all races as opened, except those in Known. Snapshots share races, so do
// not modify them.
//
// If a poll fails, Watch yields its error with the last snapshot, without changes, and polls again
// after a backoff of up to five minutes, or a Retry-After of up to an hour. Only an error that
// matches ErrInvalidArgument ends the loop.
//
// A race that can no longer be read keeps its last state, and its error is yielded once, or passed to
// the handler of [WithSkipHandler]. While the list has an entry without a readable id, no race is
// reported as closed. A race whose start time changes is reported as closed and opened.
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Watch(ctx context.Context, q WatchQuery) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		op := openRaces
		op.priority = pace.Polls
		if problem := checkNotNegative("an Interval", q.Interval); problem != nil || ctx == nil {
			yield(Snapshot{}, op.invalid(cmp.Or(problem, errNilContext)))
			return
		}
		w := watch{RacesService: s, op: op, last: Snapshot{Races: slices.Clone(q.Last)}, known: slices.Clone(q.Known)}
		w.run(ctx, cmp.Or(q.Interval, 15*time.Second), yield)
	}
}

// highestTier is the highest number that Tiers tries.
const highestTier TierID = 12

// Tiers returns the tiers that have finished races. It requests the newest race of each tier from 1 to
// 12, since only the number of TierOmega is documented.
func (s *RacesService) Tiers(ctx context.Context) (tiers []Tier, err error) {
	for id := TierID(1); id <= highestTier; id++ {
		newest, err := s.Results(ResultsQuery{Tier: id}).Take(ctx, 1)
		refused, isRefused := errors.AsType[*APIError](err)
		if isRefused && (refused.StatusCode == http.StatusBadRequest || refused.StatusCode == http.StatusNotFound) {
			continue // there is no such tier
		}
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 {
			tiers = append(tiers, Tier{id, newest[0].Tier})
		}
	}
	return tiers, nil
}

// finishedRaces is the listing of Results and Follow.
var finishedRaces = paged[Race]{
	route: "/api/v2/races/results", paging: byStart, cursors: "r2", followCursors: "f3", lookback: time.Hour,
	startAndTier: startAndTierOfRace, isPending: (*Race).isPending,
}

// finishedRacesV1 is the listing of ResultsV1.
var finishedRacesV1 = paged[Race]{route: "/api/v1/races/results", paging: byOffset, cursors: "r1", startAndTier: startAndTierOfRace}

func startAndTierOfRace(r *Race) (start Timestamp, tier TierID) {
	tier, _ = TierByName(r.Tier)
	return r.StartTime, tier
}

// Results walks over finished races, newest first, in version 2 of the listing.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newPager(s, finishedRaces, q)
}

// ResultsV1 walks over finished races in version 1 of the listing, which is paged by offset; prefer
// [RacesService.Results]. Its races have no Type. New races make it miss none, and repeat some only
// if forty or more appear between two page requests, as when a cursor is resumed. If races are
// removed meanwhile, or change their order, others may be missed.
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newOffsetPager(s, finishedRacesV1, q)
}

// Follow returns a [Follower] of the finished races. It reads the listing of [RacesService.Results].
func (s *RacesService) Follow(q FollowQuery) *Follower[Race] {
	return newFollower(s, finishedRaces, q)
}
