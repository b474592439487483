package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	r := programtest.Run(t, nil)
	if r.Status != 0 || r.Stderr != "" {
		t.Fatalf("status %d: %s", r.Status, r.Stderr)
	}
	for _, part := range []string{"an embedded fake", "Unfinished missions of #1 ", "Races that serve them: "} {
		if !strings.Contains(r.Stdout, part) {
			t.Errorf("%q is missing in\n%s", part, r.Stdout)
		}
	}
}

func TestItListsTheRacesOfTheService(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
	defer fake.Close()
	start := horseracing.NewTimestamp(time.Now().Add(2 * time.Hour))
	for length := range 15 { // one of every length, so that some mission is served
		fake.AddRaces(horseracing.Race{MainRaceID: horseracing.RaceID(9001 + length), StartTime: start, Length: 1 + length})
	}
	r := programtest.Run(t, programtest.Environment(fake), "-horse", "1", "-rows", "2")
	if r.Status != 0 || r.Stderr != "" {
		t.Fatalf("status %d: %s", r.Status, r.Stderr)
	}
	_, races, _ := strings.Cut(r.Stdout, "Races that serve them: ")
	if rows := strings.Count(races, "\n90"); rows != 2 || !strings.HasPrefix(races, "the best 2 of ") {
		t.Errorf("%d rows, want 2, and a title that counts them:\n%s", rows, r.Stdout)
	}
	programtest.Run(t, programtest.Environment(fake)).ExpectSentence(t, 1, "-horse")
	programtest.Run(t, programtest.Environment(fake), "-horse", "5000").ExpectSentence(t, 1, "404")
}

func TestCtrlCEndsIt(t *testing.T) { programtest.ExpectInterruptible(t, "-horse", "1") }

func TestItExplainsItself(t *testing.T) {
	programtest.ExpectUsage(t, "-horse", "-rows", "-hippodromes", "HORSERACING_API_KEY")
	for _, rows := range []string{"0", "-3"} {
		programtest.Run(t, nil, "-rows", rows).ExpectSentence(t, 2, "-rows")
	}
}

func TestHippodromesAreNamedByTheirPlaceInTheList(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
	defer fake.Close()
	horse := horseracing.HorseNumber(0)
	kind := 0 // the type of hippodrome that its mission requires
	for _, number := range fake.Horses(0) {
		record, err := fake.Client().Horses.Missions(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range record.Missions {
			if m.Mission == horseracing.MissionKindRunAllOnZHippodrome && !m.Completed && m.Hippodrome != nil {
				horse, kind = number, *m.Hippodrome
			}
		}
	}
	if horse == 0 {
		t.Fatal("no horse has a mission that requires a hippodrome: the test shows nothing")
	}
	list := func(name string) string { return strings.Repeat(",", kind) + name }
	for _, test := range []struct{ names, want string }{
		{list("Oval"), "races on Oval"},
		{list(" Oval ,Straight"), "races on Oval"},
		{list(",Straight"), "unknown"},
		{list("  "), "unknown"},
	} {
		r := programtest.Run(t, programtest.Environment(fake), "-horse", fmt.Sprint(horse), "-hippodromes", test.names)
		var counts []string
		for line := range strings.Lines(r.Stdout) {
			for _, text := range []string{"races on ", "unknown"} {
				if _, after, found := strings.Cut(line, text); found {
					counts = append(counts, text+strings.TrimRight(after, "\n"))
				}
			}
		}
		if !slices.Contains(counts, test.want) || len(slices.Compact(counts)) != 1 {
			t.Errorf("%q: what counts is %q, want %q:\n%s", test.names, counts, test.want, r.Stdout+r.Stderr)
		}
	}
}

func TestAHippodromeThatNoRaceHasIsAMistake(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
	defer fake.Close()
	for names, want := range map[string]int{"Oval,Hexagon": 2, "Oval Triangle": 2, "oval,,Triangle": 0, "": 0} {
		r := programtest.Run(t, programtest.Environment(fake), "-horse", "1", "-hippodromes", names)
		if want == 2 {
			r.ExpectSentence(t, 2, "-hippodromes", "Oval, Straight, Triangle")
		} else if r.Status != 0 {
			t.Errorf("%q: status %d: %s", names, r.Status, r.Stderr)
		}
	}
}

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
		got = append(got, row{c.race.MainRaceID, c.xp, c.sugar, strings.Join(c.serves, ",")})
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
	if len(ranked) != 1 || ranked[0].race.MainRaceID != 1 {
		t.Errorf("ranked %v", ranked)
	}
	if ranked := rank(&horseracing.Horse{}, nil, races, nil, now); len(ranked) != 0 {
		t.Errorf("without missions: %v", ranked)
	}
}

func TestAMissionThatDoesNotShowWhatCountsIsNotGuessed(t *testing.T) {
	race := openRace(1, 9, "Grass", 1)
	for _, m := range []horseracing.HorseMission{
		{Mission: horseracing.MissionKindRunXFurlongRace},
		{Mission: horseracing.MissionKindRunAllOnZHippodrome},
		{Mission: horseracing.MissionKindRunAllOnZHippodrome, Hippodrome: new(-1)},
		{Mission: horseracing.MissionKindRunAllOnZHippodrome, Hippodrome: new(1)}, // not named
		{Mission: horseracing.MissionKindRunAllOnZHippodrome, Hippodrome: new(2)}, // beyond the names given
		{Mission: "unseen"},
	} {
		if d := demandOf(&m, []string{"Grass", ""}); d.metBy(&race) || d.String() != "unknown" {
			t.Errorf("%s: %v", m.Mission, d)
		}
	}
	for _, kind := range []horseracing.MissionKind{horseracing.MissionKindAllDaily, horseracing.MissionKindAllWeekly} {
		if d := demandOf(&horseracing.HorseMission{Mission: kind}, nil); d.metBy(&race) || d.String() != "the other missions" {
			t.Errorf("%s: %v", kind, d)
		}
	}
}
