package horseracing

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// HorsesService reads horses: one, a user's, those open for breeding, and the
// missions of one. Reach it as [Client.Horses].
type HorsesService struct{ client *Client }

// Horse is a horse record (interface document, section 2.1).
type Horse struct {
	Name             string      `json:"name"`
	Image            string      `json:"image"`        // URL
	ExternalURL      string      `json:"external_url"` // URL of the horse's public page
	Number           HorseNumber `json:"number"`
	Gender           Gender      `json:"gender"`
	Height           float64     `json:"height"` // unit not shown
	Weight           float64     `json:"weight"` // unit not shown
	Level            int         `json:"level"`
	Appearance       []Trait     `json:"appearance,omitzero"`
	BreedingCooldown *time.Time  `json:"breeding_cooldown"` // UTC; nil: none; see CanBreedAt
	Breed            string      `json:"breed"`
	Generation       int         `json:"generation"`
	Tier             TierName    `json:"tier"`
}

// Trait is one feature of a horse's appearance: "mane_color" is "Black", say.
// Section 2.1 of the interface document lists the types that occur.
type Trait struct {
	Type  string `json:"trait_type"`
	Value string `json:"value"`
}

// Trait returns the value of the first trait of that type ("mane_color"), and
// whether the horse has one.
func (h *Horse) Trait(name string) (string, bool) {
	for _, t := range h.Appearance {
		if t.Type == name {
			return t.Value, true
		}
	}
	return "", false
}

// CanBreedAt reports whether the horse's breeding cooldown is over at t: there
// is none, or its instant, taken for its end, has come. It says nothing of other
// conditions, which the interface document does not show.
func (h *Horse) CanBreedAt(t time.Time) bool {
	return h.BreedingCooldown == nil || !t.Before(*h.BreedingCooldown)
}

// BreedingListing is a horse offered for breeding (interface document, section 2.2).
type BreedingListing struct {
	Name            string      `json:"name"`
	Number          HorseNumber `json:"number"`
	Gender          Gender      `json:"gender"`
	WinsFirstCount  int         `json:"wins_first_count"`
	WinsSecondCount int         `json:"wins_second_count"`
	WinsThirdCount  int         `json:"wins_third_count"`
	TotalRaceCount  int         `json:"total_race_count"`
	Price           Number      `json:"price"` // unit not shown
	Generation      int         `json:"generation"`
	Tier            TierName    `json:"tier"`
}

// HorseMissions are the missions of one horse (interface document, section 2.3).
type HorseMissions struct {
	Number   HorseNumber    `json:"number"`
	Missions []HorseMission `json:"missions,omitzero"` // monthly ones first, then weekly, then daily; no further order
}

// HorseMission is a mission of a horse with its progress and its final reward
// (interface document, section 2.3). How Processed differs from Completed is
// not shown there, nor which hippodrome a number means.
type HorseMission struct {
	Type        MissionPeriod     `json:"type"`
	Mission     MissionKind       `json:"mission"`
	Name        string            `json:"name"`  // a title for people
	Count       int               `json:"count"` // the target
	RewardXP    int               `json:"reward_xp"`
	RewardSugar int               `json:"reward_sugar"`
	Progress    []json.RawMessage `json:"progress,omitzero"` // the shape of an element is not shown
	Processed   bool              `json:"processed"`
	Completed   bool              `json:"completed"`
	Place       *int              `json:"place,omitzero"`      // of take_prize_place_in_x_races; nil: absent
	Hippodrome  *int              `json:"hippodrome,omitzero"` // of run_all_on_z_hippodrome; nil: absent
	Furlongs    *int              `json:"furlongs,omitzero"`   // of run_x_furlong_race and run_x_races_y_furlong; nil: absent
}

// Get returns one horse (GET /api/v1/horses/{horse_number}; interface
// document, section 4.1). An empty answer is ErrNotFound.
func (s *HorsesService) Get(ctx context.Context, number HorseNumber, opts ...CallOption) (*Horse, error) {
	return getOne[Horse](ctx, s.client, horseOperation(number), opts)
}

func horseOperation(number HorseNumber) operation {
	return operation{method: http.MethodGet, route: "/api/v1/horses/{horse_number}", id: number}
}

// Owned returns the horses of the user whose key is given (GET
// /api/v1/horses/user; interface document, section 4.2). A user without horses
// is no error.
func (s *HorsesService) Owned(ctx context.Context, key UserKey, opts ...CallOption) ([]Horse, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/user"}
	if key == "" {
		return nil, op.invalid("the user key is empty")
	}
	op.body = struct {
		UserKey UserKey `json:"user_key"`
	}{key}
	return getList[Horse](ctx, s.client, op, opts)
}

// Missions returns the missions of one horse (GET
// /api/v1/horses/missions/{horse_number}; interface document, section 4.3).
// An empty answer is ErrNotFound.
func (s *HorsesService) Missions(ctx context.Context, number HorseNumber, opts ...CallOption) (*HorseMissions, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/missions/{horse_number}", id: number}
	return getOne[HorseMissions](ctx, s.client, op, opts)
}

// OpenForBreeding returns all horses offered for breeding (GET
// /api/v1/horses/breeding/open; interface document, section 4.4).
func (s *HorsesService) OpenForBreeding(ctx context.Context, opts ...CallOption) ([]BreedingListing, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/breeding/open"}
	return getList[BreedingListing](ctx, s.client, op, opts)
}
