package world

import "github.com/horseracing-go/horseracing"

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
