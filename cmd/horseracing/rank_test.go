package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openRace(id horseracing.RaceID, length int, hippodrome string, fee int64) horseracing.Race {
	var amount horseracing.BigInt
	_ = amount.Scan(fee)
	start := horseracing.NewTimestamp(now.Add(time.Hour))
	return horseracing.Race{
		MainRaceID: id, StartTime: start, RegistrationDeadline: start, Length: length, EntryFee: amount, Places: 2,
		MinLevel: 1, MaxLevel: 50, Info: horseracing.RaceInfo{HippodromeType: hippodrome},
	}
}

func TestRankPutsTheRaceThatIsWorthMostFirst(t *testing.T) {
	missions := []horseracing.HorseMission{
		{Mission: horseracing.MissionKindRunXRaces, Name: "any", Count: 10, RewardXP: 1000, RewardSugar: 50},
		{Mission: horseracing.MissionKindRunXFurlongRace, Name: "nine", Count: 1, RewardXP: 400, Furlongs: new(9)},
		{Mission: horseracing.MissionKindRunXRacesYFurlong, Name: "done", Count: 1, RewardXP: 9000, Furlongs: new(2), Completed: true},
		{Mission: horseracing.MissionKindRunAllOnZHippodrome, Name: "sand", Count: 14, RewardXP: 1400, Hippodrome: new(1)},
		{Mission: horseracing.MissionKindTakePrizePlaceInXRaces, Name: "prize", Count: 1, RewardXP: 5000, Place: new(1)},
		{Mission: horseracing.MissionKindAllWeekly, Name: "all", Count: 1, RewardXP: 9000},
		{Mission: "swim", Name: "unseen", Count: 1, RewardXP: 9000},
	}
	races := []horseracing.Race{
		openRace(1, 2, "Grass", 5),
		openRace(2, 9, "Grass", 7),
		openRace(3, 9, "sand", 9),
		openRace(4, 2, "Grass", 4),
		openRace(5, 2, "Sand", 4),
	}
	type row struct {
		Race      horseracing.RaceID
		XP, Sugar float64
		Serves    string
	}
	var got []row
	for _, c := range rank(&horseracing.Horse{Number: 8, Level: 20}, missions, races, []string{"Grass", "Sand"}, now) {
		got = append(got, row{c.Race.MainRaceID, c.XP, c.Sugar, strings.Join(append(c.Serves, c.perhaps()...), ",")})
	}
	want := []row{
		{3, 600, 5, "any,nine,sand,prize?"},
		{2, 500, 5, "any,nine,prize?"},
		{5, 200, 5, "any,sand,prize?"},
		{4, 100, 5, "any,prize?"}, // the cheaper of two that are worth the same
		{1, 100, 5, "any,prize?"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRankLeavesOutWhatTheHorseCannotEnter(t *testing.T) {
	missions := []horseracing.HorseMission{{Mission: horseracing.MissionKindRunXRaces, Count: 1}}
	var races []horseracing.Race
	for id, change := range map[horseracing.RaceID]func(*horseracing.Race){
		1: func(*horseracing.Race) {},
		2: func(r *horseracing.Race) { r.RegistrationDeadline = horseracing.NewTimestamp(now) },
		3: func(r *horseracing.Race) { r.Places = 0 },
		4: func(r *horseracing.Race) { r.MinLevel = 21 },
		5: func(r *horseracing.Race) { r.Participants = []horseracing.RaceParticipant{{Number: 8}} },
	} {
		race := openRace(id, 5, "Grass", 1)
		change(&race)
		races = append(races, race)
	}
	ranked := rank(&horseracing.Horse{Number: 8, Level: 20}, missions, races, nil, now)
	if len(ranked) != 1 || ranked[0].Race.MainRaceID != 1 {
		t.Errorf("ranked %v", ranked)
	}
	if ranked := rank(&horseracing.Horse{}, nil, races, nil, now); len(ranked) != 0 {
		t.Errorf("without missions: %v", ranked)
	}
}
