package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// TournamentsService reads tournaments. It is [Client.Tournaments]. Registering a
// horse in a tournament is undocumented.
type TournamentsService struct{ client *Client }

// Tournament is a tournament, open or finished. What the numbers in Turf and Status
// mean is undocumented.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type Tournament struct {
	ID                       TournamentID            `json:"_id,omitzero"`
	Name                     string                  `json:"name"`
	Description              string                  `json:"description"`
	HippodromeID             string                  `json:"hippodrome_id"`
	HippodromeName           string                  `json:"hippodrome_name"`
	Turf                     int                     `json:"turf"`
	RegistrationOpen         Timestamp               `json:"registration_open,omitzero"`
	RegistrationDeadline     Timestamp               `json:"registration_deadline,omitzero"`
	StartTime                Timestamp               `json:"start_time,omitzero"`
	Length                   int                     `json:"length"` // unit undocumented; a race's is in furlongs
	Places                   int                     `json:"places"` // capacity
	MinPlaces                int                     `json:"min_places"`
	EntryFee                 BigInt                  `json:"entry_fee"`       // unit undocumented; very large
	Prizes                   []Number                `json:"prizes,omitzero"` // unit undocumented
	NoEquipment              bool                    `json:"no_equipment"`
	MinLevel                 int                     `json:"min_level,omitzero"` // zero: absent
	MaxLevel                 int                     `json:"max_level,omitzero"` // zero: absent
	MaxParticipantsPerWallet int                     `json:"max_participants_per_wallet"`
	MinRaceCount             int                     `json:"min_race_count"`
	MaxRaceCount             *int                    `json:"max_race_count"` // nil: no maximum
	Type                     RaceType                `json:"type"`
	Status                   int                     `json:"status"` // 2 on finished ones; others are undocumented
	Tier                     TierID                  `json:"tier"`
	Stages                   []Stage                 `json:"stages,omitzero"`
	Participants             []TournamentParticipant `json:"participants,omitzero"` // seen in ascending order of Total
	AdditionalPrizes         []AdditionalPrize       `json:"additional_prizes,omitzero"`
}

// Stage is a round of a tournament.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type Stage struct {
	RaceCount           int           `json:"race_count"`
	StartTime           Timestamp     `json:"start_time,omitzero"`
	MinutesBetweenRaces float64       `json:"minutes_between_races"`
	Name                string        `json:"name"`
	Results             []StageResult `json:"results,omitzero"` // seen in ascending order of Total
	Status              int           `json:"status"`           // meaning undocumented; 2 in a finished tournament
	CurrentRound        int           `json:"current_round"`
}

// StageResult is the result of a horse in a stage.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type StageResult struct {
	Number     HorseNumber `json:"number"`
	Total      float64     `json:"total,omitzero"` // meaning and unit undocumented; zero: none
	MainRaceID RaceID      `json:"main_race_id"`   // as Race.MainRaceID
}

// TournamentParticipant is a horse in a tournament.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type TournamentParticipant struct {
	Number         HorseNumber `json:"number"`
	DroppedAtIndex int         `json:"dropped_at_index"` // meaning undocumented
	Total          float64     `json:"total,omitzero"`   // meaning and unit undocumented; zero: none
}

// PrizeItem is an item among the additional prizes of a tournament.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type PrizeItem struct {
	ID   string `json:"_id"`
	Type string `json:"type"`
}

// AdditionalPrize is a prize in addition to the money. In the names
// additional_token and additional_treasury_token, "token" stands for the game's
// currency: whatever it is called in a response is read into Token and
// TreasuryToken, and written back under the same name. A prize that was not read is
// written with the documented names.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#25-tournament
type AdditionalPrize struct {
	Token         BigInt      `json:"additional_token"`          // unit undocumented; very large
	TreasuryToken Number      `json:"additional_treasury_token"` // unit undocumented
	Sugar         Number      `json:"additional_sugar"`          // unit undocumented
	Items         []PrizeItem `json:"additional_items,omitzero"`

	read *prizeNames // nil: made by hand
}

// prizeNames are the members a prize was read from; empty: it was absent.
type prizeNames struct{ token, treasury, sugar string }

const (
	prizePrefix    = "additional_"
	treasuryPrefix = "additional_treasury_"
	prizeToken     = "additional_token"
	prizeTreasury  = "additional_treasury_token"
	prizeSugar     = "additional_sugar"
	prizeItems     = "additional_items"
)

// Equal reports whether both prizes hold the same values, under whatever names.
func (p AdditionalPrize) Equal(other AdditionalPrize) bool {
	return p.Token.Equal(other.Token) && p.TreasuryToken.Equal(other.TreasuryToken) &&
		p.Sugar.Equal(other.Sugar) && slices.Equal(p.Items, other.Items)
}

// UnmarshalJSON reads a prize, whatever the currency is called.
func (p *AdditionalPrize) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := unmarshal(data, &members); err != nil {
		return err
	}
	names := prizeNamesAmong(members)
	*p = AdditionalPrize{read: names}
	for name, into := range map[string]any{names.token: &p.Token, names.treasury: &p.TreasuryToken, names.sugar: &p.Sugar, prizeItems: &p.Items} {
		if value, ok := members[name]; ok && name != "" { // the name is empty where there is no such member
			if err := unmarshal(value, into); err != nil {
				return &memberError{name, err}
			}
		}
	}
	return nil
}

// prizeNamesAmong finds the currency's members, whatever it is called. One that
// is no number is none of them, unless it has the documented name.
func prizeNamesAmong(members map[string]json.RawMessage) *prizeNames {
	names := new(prizeNames)
	var tokens, treasuries []string // without what they begin with
	for _, name := range slices.Sorted(maps.Keys(members)) {
		isNumber := new(Number).UnmarshalJSON(bytes.Trim(members[name], `"`)) == nil
		if name == prizeSugar {
			names.sugar = name
		} else if currency, ok := strings.CutPrefix(name, treasuryPrefix); ok && (isNumber || name == prizeTreasury) {
			treasuries = append(treasuries, currency)
		} else if currency, ok := strings.CutPrefix(name, prizePrefix); ok && !strings.HasPrefix(name, treasuryPrefix) && name != prizeItems && (isNumber || name == prizeToken) {
			tokens = append(tokens, currency)
		}
	}
	if len(tokens) > 0 {
		names.token = prizePrefix + currencyAmong(tokens, treasuries)
	}
	if len(treasuries) > 0 {
		names.treasury = treasuryPrefix + currencyAmong(treasuries, tokens)
	}
	return names
}

// currencyAmong picks one of several sorted names: the documented one, else one
// that is among the others too, else the first, so that the choice does not
// depend on chance.
func currencyAmong(names, others []string) string {
	if slices.Contains(names, "token") {
		return "token"
	}
	both := slices.IndexFunc(names, func(name string) bool { return slices.Contains(others, name) })
	return names[max(0, both)]
}

// MarshalJSON writes the members under the names they were read with.
func (p AdditionalPrize) MarshalJSON() ([]byte, error) {
	members := make(map[string]any, 4)
	write := func(read, documented string, value any, isZero bool) {
		if name := cmp.Or(read, documented); read != "" || p.read == nil || !isZero {
			members[name] = value
		}
	}
	read := prizeNames{}
	if p.read != nil {
		read = *p.read
	}
	write(read.token, prizeToken, p.Token, p.Token.IsZero())
	write(read.treasury, prizeTreasury, p.TreasuryToken, p.TreasuryToken == Number{})
	write(read.sugar, prizeSugar, p.Sugar, p.Sugar == Number{})
	if p.Items != nil {
		members[prizeItems] = p.Items
	}
	return json.Marshal(members)
}

// Open returns the open tournaments; none is no error. With a [*DecodeError] it
// returns those that could be read. The shape of the response is undocumented: an
// array or a single tournament is read.
//
// GET /api/v1/tournaments/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#411-open-tournaments
func (s *TournamentsService) Open(ctx context.Context, opts ...CallOption) ([]Tournament, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/tournaments/open", objectOrArray: true}
	return getList[Tournament](ctx, s.client, op, opts)
}

// Get returns the tournament with the given id. If there is none, the error is
// ErrNotFound. The shape of the response is undocumented: a tournament or an array is
// read, and of several the one with that id.
//
// GET /api/v1/tournaments/{tournamentId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#412-one-tournament
func (s *TournamentsService) Get(ctx context.Context, id TournamentID, opts ...CallOption) (*Tournament, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/tournaments/{tournamentId}", id: id, emptyIsNotFound: true, objectOrArray: true}
	tournament, err := getEntry[Tournament](ctx, s.client, op, opts)
	return tournament.value, err
}
