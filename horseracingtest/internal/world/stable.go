package world

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/horseracing-go/horseracing"
)

// UserKey returns the key of a user, numbered from 0.
func (w *World) UserKey(user int) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return userKey(w.seed, user)
}

// userOf returns the user a key belongs to.
func (w *World) userOf(key string) (int, *Refusal) {
	user, found := w.userKeys[key]
	if !found {
		return 0, Refuse(forbidden, "unknown_user_key", "the user_key belongs to no user of this service")
	}
	return user, nil
}

// Horses returns the horses of a user, in ascending order.
func (w *World) Horses(user int) []int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.horsesOf(user)
}

// horse returns the horse of that number: nil if there is none.
func (w *World) horse(number int64) *horse {
	if h := w.horses[number]; h != nil {
		return h
	}
	if number < 1 || number > w.lastHorse {
		return nil
	}
	return w.inventHorse(number)
}

// inventHorse makes up the horse of that number.
func (w *World) inventHorse(number int64) *horse {
	h := &horse{number: number, owner: -1, level: foreignLevel(w.seed, number)}
	if number < w.schedule.foreign {
		h.owner, h.level = int(number-1)/horsesPerUser, userLevels[(number-1)%horsesPerUser]
	}
	h.image = "https://horses.invalid/image/" + strconv.FormatInt(number, 10) + ".png"
	h.url = "https://horses.invalid/horse/" + strconv.FormatInt(number, 10)
	d := drawFrom(w.seed, forHorses, uint64(number))
	d.next() // the level
	h.name = pick(&d, horseFirst) + " " + pick(&d, horseSecond)
	h.gender = pick(&d, genders)
	h.breed = pick(&d, breeds)
	h.tier = pick(&d, tierNames[1:])
	h.height = float64(d.between(142, 178)) / 100
	h.weight = float64(d.between(3800, 6400)) / 10
	h.generation = d.below(10)
	h.appearance = make([]horseracing.Trait, len(traits))
	for i, t := range traits {
		h.appearance[i] = horseracing.Trait{Type: t.name, Value: pick(&d, t.values)}
	}
	h.cooldown = w.begin - 20*dayMillis + d.below64(30*dayMillis+1)
	return h
}

// horsesOf returns the horses of a user, in ascending order.
func (w *World) horsesOf(user int) []int64 {
	var numbers []int64
	for i := range horsesPerUser {
		if number := int64(user*horsesPerUser + i + 1); w.horses[number] == nil {
			numbers = append(numbers, number)
		}
	}
	for number, h := range w.horses {
		if h.owner == user {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (w *World) unknownHorse(number int64) *Refusal {
	return Refuse(notFound, "unknown_horse", "there is no horse %d; this fake has 1 to %d, and those that were added", number, w.lastHorse)
}

// AddHorses adds horses of a user, or of none if it is -1, or replaces those with the
// same Number: all of them, or none if there is an error.
func (w *World) AddHorses(user int, horses ...horseracing.Horse) error {
	for i := range horses {
		if horses[i].Number <= 0 {
			return fmt.Errorf("a horse to add has the Number %d", horses[i].Number)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range horses {
		w.horses[int64(horses[i].Number)] = w.givenHorse(&horses[i], user)
	}
	return nil
}

// givenHorse turns a horse as users write it into one as the service has it.
func (w *World) givenHorse(from *horseracing.Horse, owner int) *horse {
	h := w.inventHorse(int64(from.Number))
	h.owner, h.generation, h.cooldown = owner, from.Generation, 0
	h.name = cmp.Or(from.Name, h.name)
	h.image = cmp.Or(from.Image, h.image)
	h.url = cmp.Or(from.ExternalURL, h.url)
	h.gender = cmp.Or(string(from.Gender), h.gender)
	h.breed = cmp.Or(from.Breed, h.breed)
	h.tier = cmp.Or(string(from.Tier), h.tier)
	h.height = cmp.Or(from.Height, h.height)
	h.weight = cmp.Or(from.Weight, h.weight)
	h.level = cmp.Or(from.Level, h.level)
	if len(from.Appearance) > 0 {
		h.appearance = append([]horseracing.Trait(nil), from.Appearance...)
	}
	if from.BreedingCooldown != nil {
		h.cooldown = from.BreedingCooldown.UnixMilli()
	}
	return h
}
