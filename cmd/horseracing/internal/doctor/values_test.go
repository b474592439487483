package doctor

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

// needNoLine are the members whose values say nothing about the service that is open:
// names, ids, amounts and numbers.
const needNoLine = `
	Horse.name Horse.image Horse.external_url Horse.number Horse.height Horse.weight Horse.level Horse.breeding_cooldown Horse.generation
	BreedingListing.name BreedingListing.number BreedingListing.wins_first_count BreedingListing.wins_second_count BreedingListing.wins_third_count
	BreedingListing.total_race_count BreedingListing.price BreedingListing.generation
	HorseMission.name HorseMission.count HorseMission.reward_xp HorseMission.reward_sugar HorseMission.place HorseMission.hippodrome HorseMission.furlongs
	Race._id Race.main_race_id Race.start_time Race.registration_deadline Race.length Race.v2 Race.no_equipment Race.entry_fee Race.prizes Race.info
	Race.places Race.min_level Race.max_level Race.participants Race.winners Race.info.name
	Tournament._id Tournament.name Tournament.description Tournament.hippodrome_id Tournament.hippodrome_name Tournament.registration_open
	Tournament.registration_deadline Tournament.start_time Tournament.length Tournament.places Tournament.min_places Tournament.entry_fee
	Tournament.prizes Tournament.no_equipment Tournament.min_level Tournament.max_level Tournament.max_participants_per_wallet
	Tournament.min_race_count Tournament.max_race_count Tournament.stages Tournament.participants
	Stage.race_count Stage.start_time Stage.minutes_between_races Stage.name Stage.results Stage.current_round
	MissionTemplate.min MissionTemplate.max MissionTemplate.description MissionTemplate.xp_base MissionTemplate.xp_modifier
	MissionTemplate.sugar_base MissionTemplate.sugar_modifier MissionTemplate.furlong_min MissionTemplate.furlong_max
	MissionTemplate.hippodrome_type_min MissionTemplate.hippodrome_type_max MissionTemplate.place_min MissionTemplate.place_max`

func TestEachMemberHasALineOfTheReportOrNeedsNone(t *testing.T) {
	var lines []string
	for _, p := range new(Doctor).properties() {
		name, second, _ := strings.Cut(strings.TrimSuffix(p.name, "[]"), "/")
		lines = append(lines, name)
		if second != "" { // HorseMission.processed/completed
			lines = append(lines, name[:strings.LastIndexByte(name, '.')+1]+second)
		}
	}
	for above, members := range map[string]reflect.Type{
		"Horse": reflect.TypeFor[horseracing.Horse](), "BreedingListing": reflect.TypeFor[horseracing.BreedingListing](),
		"HorseMission": reflect.TypeFor[horseracing.HorseMission](), "Race": reflect.TypeFor[horseracing.Race](), "Race.info": reflect.TypeFor[horseracing.RaceInfo](),
		"Tournament": reflect.TypeFor[horseracing.Tournament](), "Stage": reflect.TypeFor[horseracing.Stage](), "MissionTemplate": reflect.TypeFor[horseracing.MissionTemplate](),
	} {
		for _, f := range reflect.VisibleFields(members) {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			name := above + "." + member
			if slices.Contains(lines, name) == slices.Contains(strings.Fields(needNoLine), name) {
				t.Errorf("%s: give it a line in values.go, or list it here as one that needs none", name)
			}
		}
	}
}
