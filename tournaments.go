package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/decode"
)

// TournamentsService reads tournaments.
type TournamentsService struct{ *backend }

// Tournament is a tournament, open or finished.
type Tournament struct {
	ID                       TournamentID            `json:"_id,omitzero" decode:"strict"`
	Name                     string                  `json:"name"`
	Description              string                  `json:"description"`
	HippodromeID             string                  `json:"hippodrome_id"`
	HippodromeName           string                  `json:"hippodrome_name"`
	Turf                     int                     `json:"turf"`
	RegistrationOpen         Timestamp               `json:"registration_open,omitzero"`
	RegistrationDeadline     Timestamp               `json:"registration_deadline,omitzero" decode:"strict"`
	StartTime                Timestamp               `json:"start_time,omitzero" decode:"strict"`
	Length                   int                     `json:"length"`                 // unit undocumented; a race's is in furlongs
	Places                   int                     `json:"places" decode:"strict"` // capacity
	MinPlaces                int                     `json:"min_places"`
	EntryFee                 BigInt                  `json:"entry_fee" decode:"strict"` // see BigInt for the unit
	Prizes                   []Number                `json:"prizes,omitzero"`           // unit undocumented
	NoEquipment              bool                    `json:"no_equipment"`
	MinLevel                 int                     `json:"min_level,omitzero" decode:"strict"` // zero if absent
	MaxLevel                 int                     `json:"max_level,omitzero" decode:"strict"` // zero if absent
	MaxParticipantsPerWallet int                     `json:"max_participants_per_wallet"`
	MinRaceCount             int                     `json:"min_race_count"`
	MaxRaceCount             *int                    `json:"max_race_count"` // nil if there is no maximum
	Type                     RaceType                `json:"type"`
	Status                   int                     `json:"status"` // 2 if the tournament is finished; others are undocumented
	Tier                     TierID                  `json:"tier"`
	Stages                   []Stage                 `json:"stages,omitzero"`
	Participants             []TournamentParticipant `json:"participants,omitzero" decode:"strict"` // order undocumented; in the responses seen so far ascending by Total
	AdditionalPrizes         []AdditionalPrize       `json:"additional_prizes,omitzero"`
}

func (t *Tournament) id() pathID  { return t.ID }
func (t *Tournament) fee() BigInt { return t.EntryFee }

// Stage is a stage of a tournament.
type Stage struct {
	RaceCount           int           `json:"race_count"`
	StartTime           Timestamp     `json:"start_time,omitzero"`
	MinutesBetweenRaces float64       `json:"minutes_between_races"`
	Name                string        `json:"name"`
	Results             []StageResult `json:"results,omitzero"` // order undocumented; in the responses seen so far ascending by Total
	Status              int           `json:"status"`           // meaning undocumented; 2 in a finished tournament
	CurrentRound        int           `json:"current_round"`
}

// StageResult is the result of a horse in a stage.
type StageResult struct {
	Number     HorseNumber `json:"number" decode:"strict"`
	Total      float64     `json:"total,omitzero"`               // zero if there is none; meaning and unit undocumented
	MainRaceID RaceID      `json:"main_race_id" decode:"strict"` // as Race.MainRaceID
}

// TournamentParticipant is a horse in a tournament.
type TournamentParticipant struct {
	Number         HorseNumber `json:"number" decode:"strict"`
	DroppedAtIndex int         `json:"dropped_at_index"` // meaning undocumented
	Total          float64     `json:"total,omitzero"`   // zero if there is none; meaning and unit undocumented
}

type PrizeItem struct {
	ID   string `json:"_id"`
	Type string `json:"type"`
}

// AdditionalPrize is a prize in addition to the money. The service may write the name of its currency
// in place of "token" in the names of members. Any is decoded, and encoded again. If there are
// several, additional_token and additional_treasury_token are read.
type AdditionalPrize struct {
	Token         BigInt      `json:"additional_token"`          // unit undocumented; very large
	TreasuryToken Number      `json:"additional_treasury_token"` // unit undocumented
	Sugar         Number      `json:"additional_sugar"`          // unit undocumented
	Items         []PrizeItem `json:"additional_items,omitzero"`

	currency string // "token" if it is empty
}

// members returns pointers to the values, by the names of their members.
func (p *AdditionalPrize) members() map[string]any {
	currency := cmp.Or(p.currency, "token")
	return map[string]any{
		"additional_" + currency: &p.Token, "additional_treasury_" + currency: &p.TreasuryToken,
		"additional_sugar": &p.Sugar, "additional_items": &p.Items,
	}
}

// Equal reports whether both prizes hold the same values, of any currency.
func (p AdditionalPrize) Equal(other AdditionalPrize) bool {
	return p.Token.Equal(other.Token) && p.TreasuryToken.Equal(other.TreasuryToken) &&
		p.Sugar.Equal(other.Sugar) && slices.Equal(p.Items, other.Items)
}

func (p *AdditionalPrize) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := decode.Unmarshal(data, &values); err != nil {
		return err
	}
	*p = AdditionalPrize{}
	currencies := map[string]bool{}
	for name, value := range values {
		name, ok := strings.CutPrefix(name, "additional_")
		if ok && name != "sugar" && new(Number).UnmarshalJSON(value) == nil {
			currencies[strings.TrimPrefix(name, "treasury_")] = true
		}
	}
	if len(currencies) == 1 {
		p.currency = slices.Collect(maps.Keys(currencies))[0]
	}
	for name, out := range p.members() {
		if value, ok := values[name]; ok {
			if err := decode.Read(value, out, decode.Lenient); err != nil {
				return fmt.Errorf("%s%s: %w", name, err.Field, err.Err)
			}
		}
	}
	return nil
}

func (p AdditionalPrize) MarshalJSON() ([]byte, error) {
	members := p.members()
	if p.Items == nil {
		delete(members, "additional_items")
	}
	return json.Marshal(members)
}

// Open returns the open tournaments, perhaps none. An array or a single tournament is accepted.
//
// GET /api/v1/tournaments/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#411-open-tournaments
func (s *TournamentsService) Open(ctx context.Context, opts ...CallOption) ([]Tournament, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/tournaments/open", objectOrArray: true}
	return getList[Tournament](ctx, s, op, opts)
}

// Get returns the tournament with the given id, as [RacesService.Get] does for races.
//
// GET /api/v1/tournaments/{tournamentId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#412-one-tournament
func (s *TournamentsService) Get(ctx context.Context, id TournamentID, opts ...CallOption) (*Tournament, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/tournaments/{tournamentId}", id: id}
	return getEntry[Tournament](ctx, s, op, opts)
}

// finishedTournaments is the listing of Results and Follow.
var finishedTournaments = paged[Tournament]{
	route: "/api/v1/tournaments/results", paging: byStart, cursors: "t1", followCursors: "g2", lookback: 24 * time.Hour,
	startAndTier: func(t *Tournament) (start Timestamp, tier TierID) { return t.StartTime, t.Tier },
}

// Results walks over finished tournaments, newest first.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return newPager(s, finishedTournaments, q)
}

// Follow returns a [Follower] of the finished tournaments. If they can take longer than a day, set a
// longer Lookback.
func (s *TournamentsService) Follow(q FollowQuery) *Follower[Tournament] {
	return newFollower(s, finishedTournaments, q)
}
