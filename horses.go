package horseracing

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// HorsesService reads horses, their missions, and the breeding offers.
type HorsesService struct{ *backend }

// Horse is a horse as the service describes it.
type Horse struct {
	Name             string      `json:"name"`
	Image            string      `json:"image"`        // URL
	ExternalURL      string      `json:"external_url"` // URL of the horse's public page
	Number           HorseNumber `json:"number" decode:"strict"`
	Gender           Gender      `json:"gender"`
	Height           float64     `json:"height"` // unit undocumented
	Weight           float64     `json:"weight"` // unit undocumented
	Level            int         `json:"level" decode:"strict"`
	Appearance       []Trait     `json:"appearance,omitzero"`
	BreedingCooldown *time.Time  `json:"breeding_cooldown"` // in UTC, or nil if there is none or it cannot be read; see CanBreedAt
	Breed            string      `json:"breed"`
	Generation       int         `json:"generation"`
	Tier             TierName    `json:"tier"`
}

func (h *Horse) id() pathID { return h.Number }

// Trait returns the value of the first trait of a type, such as mane_color.
func (h *Horse) Trait(name string) (string, bool) {
	for _, t := range h.Appearance {
		if t.Type == name {
			return t.Value, true
		}
	}
	return "", false
}

// CanBreedAt reports whether BreedingCooldown is nil or not after t. The service may have further
// conditions.
func (h *Horse) CanBreedAt(t time.Time) bool {
	return h.BreedingCooldown == nil || !t.Before(*h.BreedingCooldown)
}

// Trait is one feature of a horse's appearance, such as mane_color and Black.
type Trait struct {
	Type  string `json:"trait_type"`
	Value string `json:"value"`
}

// BreedingListing is a horse offered for breeding.
type BreedingListing struct {
	Name            string      `json:"name"`
	Number          HorseNumber `json:"number" decode:"strict"`
	Gender          Gender      `json:"gender"`
	WinsFirstCount  int         `json:"wins_first_count"`
	WinsSecondCount int         `json:"wins_second_count"`
	WinsThirdCount  int         `json:"wins_third_count"`
	TotalRaceCount  int         `json:"total_race_count"`
	Price           Number      `json:"price" decode:"strict"` // unit undocumented
	Generation      int         `json:"generation"`
	Tier            TierName    `json:"tier"`
}

func (b *BreedingListing) id() pathID { return b.Number }

// HorseMissions are the missions of one horse.
type HorseMissions struct {
	Number   HorseNumber    `json:"number" decode:"strict"`
	Missions []HorseMission `json:"missions,omitzero"` // monthly, then weekly, then daily; otherwise unordered
}

func (m *HorseMissions) id() pathID { return m.Number }

// HorseMission is one mission of a horse, with its progress and its final reward. How Processed
// differs from Completed is undocumented.
type HorseMission struct {
	Type        MissionPeriod     `json:"type"`
	Mission     MissionKind       `json:"mission"`
	Name        string            `json:"name"`  // for display
	Count       int               `json:"count"` // required repetitions
	RewardXP    int               `json:"reward_xp"`
	RewardSugar int               `json:"reward_sugar"`
	Progress    []json.RawMessage `json:"progress,omitzero"` // the shape of an element is undocumented
	Processed   bool              `json:"processed"`
	Completed   bool              `json:"completed"`
	Place       *int              `json:"place,omitzero"`      // set for take_prize_place_in_x_races, else nil
	Hippodrome  *int              `json:"hippodrome,omitzero"` // set for run_all_on_z_hippodrome, else nil
	Furlongs    *int              `json:"furlongs,omitzero"`   // set for run_x_furlong_race and run_x_races_y_furlong, else nil
}

// Get returns a horse. If there is none with that number, the error matches ErrNotFound.
//
// GET /api/v1/horses/{horse_number}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#41-one-horse
func (s *HorsesService) Get(ctx context.Context, number HorseNumber, opts ...CallOption) (*Horse, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/{horse_number}", id: number}
	return getEntry[Horse](ctx, s, op, opts)
}

// Owned returns the horses of the user with the given key, perhaps none.
//
// GET /api/v1/horses/user:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#42-a-users-horses
func (s *HorsesService) Owned(ctx context.Context, key UserKey, opts ...CallOption) ([]Horse, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/user", misuse: key.problem()}
	op.body = struct {
		UserKey UserKey `json:"user_key"`
	}{key}
	return getList[Horse](ctx, s, op, opts)
}

// Missions returns the missions of a horse, with the errors of Get.
//
// GET /api/v1/horses/missions/{horse_number}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#43-missions-of-a-horse
func (s *HorsesService) Missions(ctx context.Context, number HorseNumber, opts ...CallOption) (*HorseMissions, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/missions/{horse_number}", id: number}
	return getEntry[HorseMissions](ctx, s, op, opts)
}

// OpenForBreeding returns all horses that are offered for breeding.
//
// GET /api/v1/horses/breeding/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#44-horses-offered-for-breeding
func (s *HorsesService) OpenForBreeding(ctx context.Context, opts ...CallOption) ([]BreedingListing, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/breeding/open"}
	return getList[BreedingListing](ctx, s, op, opts)
}
