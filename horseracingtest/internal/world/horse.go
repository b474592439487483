package world

import (
	"slices"
	"strconv"

	"github.com/horseracing-go/horseracing"
)

const (
	// horseCount is how many horses there are, numbered from 1. It is a power
	// of two.
	horseCount = 4096

	horsesPerUser = 6
)

// Values of horses; all but Stallion, Beta and Omega are the fake's own.
var (
	genders     = []string{"Stallion", "Mare"}
	breeds      = []string{"genesis", "legendary", "exclusive", "elite", "cross"}
	horseFirst  = []string{"Amber", "Bold", "Copper", "Dusty", "Ember", "Fleet", "Golden", "Hazel", "Iron", "Jolly", "Keen", "Lunar"}
	horseSecond = []string{"Arrow", "Breeze", "Comet", "Dancer", "Echo", "Falcon", "Gale", "Harvest", "Island", "Jester"}
	colours     = []string{"bay", "black", "chestnut", "cream", "dun", "grey", "palomino", "roan"}
	shapes      = []string{"arched", "broad", "fine", "long", "short", "straight"}
	patterns    = []string{"none", "blaze", "dapple", "pinto", "spotted", "star"}
)

// traits are the trait types in the order of the API reference, each with the
// values the fake gives it.
//
// See docs/service.md, section 2.1.
var traits = []struct {
	name   string
	values []string
}{
	{"body_type", shapes}, {"base_color", colours}, {"base_pattern_type", patterns}, {"base_pattern_color", colours},
	{"muzzle_pattern_type", patterns}, {"muzzle_pattern_color", colours}, {"ear_type", shapes}, {"eye_type", shapes},
	{"mane_type", shapes}, {"mane_color", colours}, {"tail_type", shapes}, {"tail_color", colours}, {"hoof_color", colours},
	{"head_type", shapes}, {"head_pattern_type", patterns}, {"head_pattern_color", colours},
	{"leg_pattern_type", patterns}, {"leg_pattern_color", colours}, {"thigh_mark", patterns},
}

// userLevels are the levels of each user's horses, so that there is one for
// every range that races have.
var userLevels = [horsesPerUser]int{15, 35, 50, 5, 75, 100}

// foreignLevel is the level of a horse that belongs to none of the users.
func foreignLevel(seed uint64, number int64) int {
	d := drawFrom(seed, forHorses, uint64(number))
	return d.between(1, 100)
}

// horse is a horse as the service has it.
type horse struct {
	number              int64
	owner               int // user; -1: none that the fake has a key for
	name, image, url    string
	gender, breed, tier string
	height, weight      float64
	level, generation   int
	appearance          []horseracing.Trait
	cooldown            int64 // epoch milliseconds
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

// appendHorse writes a horse record. A breeding cooldown that has passed is null.
func appendHorse(b []byte, h *horse, now int64) []byte {
	b = appendText(b, `{"name":`, h.name)
	b = appendText(b, `,"image":`, h.image)
	b = appendText(b, `,"external_url":`, h.url)
	b = appendInt(b, `,"number":`, h.number)
	b = appendText(b, `,"gender":`, h.gender)
	b = appendFloat(b, `,"height":`, h.height)
	b = appendFloat(b, `,"weight":`, h.weight)
	b = appendInt(b, `,"level":`, int64(h.level))
	b = append(b, `,"appearance":`...)
	b = appendList(b, len(h.appearance), func(b []byte, i int) []byte {
		b = appendText(b, `{"trait_type":`, h.appearance[i].Type)
		b = appendText(b, `,"value":`, h.appearance[i].Value)
		return append(b, '}')
	})
	b = append(b, `,"breeding_cooldown":`...)
	if h.cooldown > now {
		b = appendString(b, isoMillis(h.cooldown))
	} else {
		b = append(b, "null"...)
	}
	b = appendText(b, `,"breed":`, h.breed)
	b = appendInt(b, `,"generation":`, int64(h.generation))
	b = appendText(b, `,"tier":`, h.tier)
	return append(b, '}')
}

// breedingPrices are of the sizes that a number of undocumented unit may have.
var breedingPrices = []string{"25", "149.5", "0.075", "40000000000000000000", "1.2e+21"}

// appendBreeding writes the breeding listing: one horse in a hundred, unless
// its breeding cooldown lasts.
func (w *World) appendBreeding(b []byte, now int64) []byte {
	var open []*horse
	for number := w.schedule.foreign; number <= horseCount; number += 100 {
		if h := w.horse(number); h.cooldown <= now {
			open = append(open, h)
		}
	}
	return appendList(b, len(open), func(b []byte, i int) []byte {
		h := open[i]
		d := drawFrom(w.seed, forBreeding, uint64(h.number))
		first, second, third := d.below(40), d.below(40), d.below(40)
		b = appendText(b, `{"name":`, h.name)
		b = appendInt(b, `,"number":`, h.number)
		b = appendText(b, `,"gender":`, h.gender)
		b = appendInt(b, `,"wins_first_count":`, int64(first))
		b = appendInt(b, `,"wins_second_count":`, int64(second))
		b = appendInt(b, `,"wins_third_count":`, int64(third))
		b = appendInt(b, `,"total_race_count":`, int64(first+second+third+d.below(400)))
		b = append(append(b, `,"price":`...), pick(&d, breedingPrices)...)
		b = appendInt(b, `,"generation":`, int64(h.generation))
		b = appendText(b, `,"tier":`, h.tier)
		return append(b, '}')
	})
}
