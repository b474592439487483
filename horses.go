package horseracing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// HorsesService reads horses, their missions, and the horses offered for breeding. It
// is [Client.Horses].
type HorsesService struct{ *backend }

// Horse is a horse as the service describes it.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#21-horse
type Horse struct {
	Name             string      `json:"name"`
	Image            string      `json:"image"`        // URL
	ExternalURL      string      `json:"external_url"` // URL of the horse's public page
	Number           HorseNumber `json:"number"`
	Gender           Gender      `json:"gender"`
	Height           float64     `json:"height"` // unit undocumented
	Weight           float64     `json:"weight"` // unit undocumented
	Level            int         `json:"level"`
	Appearance       []Trait     `json:"appearance,omitzero"`
	BreedingCooldown *time.Time  `json:"breeding_cooldown"` // in UTC, or nil if there is none; see CanBreedAt
	Breed            string      `json:"breed"`
	Generation       int         `json:"generation"`
	Tier             TierName    `json:"tier"`
}

func (h *Horse) key() string { return numberKey(h.Number) }

// Trait is one feature of a horse's appearance, such as mane_color and Black.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#21-horse
type Trait struct {
	Type  string `json:"trait_type"`
	Value string `json:"value"`
}

// Trait returns the value of the first trait of the given type ("mane_color"), and
// reports whether the horse has one.
func (h *Horse) Trait(name string) (string, bool) {
	for _, t := range h.Appearance {
		if t.Type == name {
			return t.Value, true
		}
	}
	return "", false
}

// CanBreedAt reports whether the horse's breeding cooldown is over at t:
// BreedingCooldown is nil or not after t. The service may have further conditions; they
// are undocumented.
func (h *Horse) CanBreedAt(t time.Time) bool {
	return h.BreedingCooldown == nil || !t.Before(*h.BreedingCooldown)
}

// BreedingListing is a horse offered for breeding.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#22-horse-offered-for-breeding
type BreedingListing struct {
	Name            string      `json:"name"`
	Number          HorseNumber `json:"number"`
	Gender          Gender      `json:"gender"`
	WinsFirstCount  int         `json:"wins_first_count"`
	WinsSecondCount int         `json:"wins_second_count"`
	WinsThirdCount  int         `json:"wins_third_count"`
	TotalRaceCount  int         `json:"total_race_count"`
	Price           Number      `json:"price"` // unit undocumented
	Generation      int         `json:"generation"`
	Tier            TierName    `json:"tier"`
}

func (b *BreedingListing) key() string { return numberKey(b.Number) }

// HorseMissions are the missions of one horse.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#23-missions-of-a-horse
type HorseMissions struct {
	Number   HorseNumber    `json:"number"`
	Missions []HorseMission `json:"missions,omitzero"` // monthly, then weekly, then daily; otherwise unordered
}

func (m *HorseMissions) key() string { return numberKey(m.Number) }

// HorseMission is one mission of a horse, with its progress and its final reward.
// How Processed differs from Completed, and which hippodrome a number means, is
// undocumented.
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#23-missions-of-a-horse
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

// Get returns the horse with the given number. If there is no such horse, the error
// matches ErrNotFound; if the response contains another one, it is a [*DecodeError] that
// names it.
//
// GET /api/v1/horses/{horse_number}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#41-one-horse
func (s *HorsesService) Get(ctx context.Context, number HorseNumber, opts ...CallOption) (*Horse, error) {
	return getOne[Horse](ctx, s.backend, horseOperation(number), opts)
}

func horseOperation(number HorseNumber) operation {
	return operation{method: http.MethodGet, route: "/api/v1/horses/{horse_number}", id: number}
}

// Owned returns the horses of the user with the given key. A user may have no horses.
// If some cannot be read, it returns the others and an error that wraps a
// [*DecodeError].
//
// GET /api/v1/horses/user:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#42-a-users-horses
func (s *HorsesService) Owned(ctx context.Context, key UserKey, opts ...CallOption) ([]Horse, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/user"}
	if problem := key.problem(); problem != nil {
		return nil, op.invalid(problem)
	}
	op.body = struct {
		UserKey UserKey `json:"user_key"`
	}{key}
	return getList[Horse](ctx, s.backend, op, opts)
}

// Missions returns the missions of the horse with the given number. If there is no such
// horse, the error matches ErrNotFound.
//
// GET /api/v1/horses/missions/{horse_number}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#43-missions-of-a-horse
func (s *HorsesService) Missions(ctx context.Context, number HorseNumber, opts ...CallOption) (*HorseMissions, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/missions/{horse_number}", id: number}
	return getOne[HorseMissions](ctx, s.backend, op, opts)
}

// OpenForBreeding returns all horses that are offered for breeding. If some cannot be
// read, it returns the others and an error that wraps a [*DecodeError].
//
// GET /api/v1/horses/breeding/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#44-horses-offered-for-breeding
func (s *HorsesService) OpenForBreeding(ctx context.Context, opts ...CallOption) ([]BreedingListing, error) {
	op := operation{method: http.MethodGet, route: "/api/v1/horses/breeding/open"}
	return getList[BreedingListing](ctx, s.backend, op, opts)
}

// getManyConcurrency is how many requests of a GetMany are in flight.
const getManyConcurrency = 4

// GetMany returns the horses with these numbers, with up to four requests in flight. It
// requests each number once. A number without a horse is missing from the map.
//
// If the error is not nil, the map holds the horses that were read. GetMany continues
// after a horse that cannot be read or is not the one requested. Any other error ends it: a
// refused key, a failing service, a broken connection, a context that is done. At most 100
// errors are joined.
//
// The options apply to each of its calls. GetMany returns ErrInvalidArgument without a
// request if a number is not positive, or if [CaptureResponse] is given, which stores a
// single response.
//
// GET /api/v1/horses/{horse_number}, for each number:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#41-one-horse
func (s *HorsesService) GetMany(ctx context.Context, numbers []HorseNumber, opts ...CallOption) (map[HorseNumber]*Horse, error) {
	op := horseOperation(0)
	op.id = nil // no single horse
	switch {
	case ctx == nil:
		return nil, op.invalid(errNilContext)
	case configOf(opts).capture != nil:
		return nil, op.invalid(errors.New("CaptureResponse stores one response, and GetMany reads many"))
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for _, number := range numbers {
		if problem := number.problem(); problem != nil {
			return nil, s.secrets.Error(horseOperation(number).invalid(problem))
		}
	}

	horses, errs, failed := s.getEach(ctx, op, numbers, opts)
	found := make(map[HorseNumber]*Horse, len(numbers))
	var unreadable []*DecodeError
	for i, number := range numbers {
		if horses[i] != nil {
			found[number] = horses[i]
		} else if e, ok := errors.AsType[*DecodeError](errs[i]); ok {
			unreadable = append(unreadable, e)
		}
	}
	if ctx.Err() != nil {
		return found, fmt.Errorf("%v: %w", op, ctx.Err())
	}
	if failed != nil {
		return found, failed
	}
	return found, unreadableError(op, unreadable, 0, len(numbers))
}

// getEach requests each horse, and returns each with its error, and the error that ended
// the requests early.
func (s *HorsesService) getEach(ctx context.Context, op operation, numbers []HorseNumber, opts []CallOption) (horses []*Horse, errs []error, failed error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	horses, errs = make([]*Horse, len(numbers)), make([]error, len(numbers))
	slots := make(chan struct{}, getManyConcurrency)
	var group sync.WaitGroup
	for i, number := range numbers {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = fmt.Errorf("%v: %w", op, errAborted) // unless the call returns
			defer func() {
				if errs[i] != nil && !concernsOneHorse(errs[i]) {
					stop(errs[i])
				}
			}()
			each := horseOperation(number)
			each.order = pace.Walk
			horses[i], errs[i] = getOne[Horse](ctx, s.backend, each, opts)
		})
	}
	group.Wait()
	return horses, errs, context.Cause(ctx)
}

// concernsOneHorse reports whether other horses may be read despite an error.
func concernsOneHorse(err error) bool {
	_, isUnreadable := errors.AsType[*DecodeError](err)
	return isUnreadable || errors.Is(err, ErrNotFound)
}
