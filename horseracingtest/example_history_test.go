package horseracingtest_test

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// recordedWeek stands for races that were really run: read them from a database
// that examples/export has filled, or from [horseracing.RacesService.Results].
func recordedWeek() []horseracing.Race {
	var week []horseracing.Race
	monday := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	for hour := range 7 * 24 {
		start := monday.Add(time.Duration(hour+1) * time.Hour)
		race := horseracing.Race{
			MainRaceID: horseracing.RaceID(5000 + hour), Tier: "Omega", Type: horseracing.RaceTypeBestTime, Length: 4 + hour%9, Places: 8,
			StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start.Add(-3 * time.Minute)),
			Info:     horseracing.RaceInfo{Name: "Clover Cup", HippodromeName: "Larkspur Downs", HippodromeType: "Oval", Turf: []string{"Grass", "Sand"}[hour%2]},
			EntryFee: horseracing.NewBigInt(int64(100 + 100*(hour%3))), Prizes: []horseracing.Number{horseracing.NewNumber(600), horseracing.NewNumber(300), horseracing.NewNumber(150)},
		}
		for i := range 8 { // of twenty horses, numbered from 5001; the third is good on sand
			p := horseracing.RaceParticipant{Number: horseracing.HorseNumber(5001 + (hour*3+i*7)%20), Total: 70 + float64((hour*31+i*17)%100)/10, Lane: i + 1}
			if p.Number == 5003 && race.Info.Turf == "Sand" {
				p.Total -= 8
			}
			race.Participants, race.FinalOrder = append(race.Participants, p), append(race.FinalOrder, i)
		}
		slices.SortFunc(race.FinalOrder, func(a, b int) int { return cmp.Compare(race.Participants[a].Total, race.Participants[b].Total) })
		race.Winners = race.FinalOrder[:3]
		week = append(week, race)
	}
	return week
}

// A backtest: what would a strategy have paid and won in a week that is over?
// This one enters one horse into every cheap race on sand, ten minutes before
// the deadline.
func ExampleWithHistoryOf() {
	server := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithHistoryOf(slices.Values(recordedWeek())))
	defer server.Close()
	ctx, client, mine := context.Background(), server.Client(), horseracing.HorseNumber(5003)
	server.AddHorses(0, horseracing.Horse{Number: mine, Level: 50})

	for end := server.Now().AddDate(0, 0, 7); server.Now().Before(end); server.Advance(10 * time.Minute) {
		races, err := client.Races.Open(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, race := range races {
			soon := race.RegistrationDeadline.Sub(server.Now()) <= 10*time.Minute
			if !soon || !race.RegistrationOpenAt(server.Now()) || race.Info.Turf != "Sand" || race.EntryFee.Big().Int64() > 200 {
				continue
			}
			if _, err := client.Races.Register(ctx, horseracing.Registration{Horse: mine, Race: race.MainRaceID, UserKey: server.UserKey(0)}); err != nil {
				fmt.Println(err)
			}
		}
	}
	server.Advance(time.Hour) // the last results

	paid, won, places := new(big.Int), 0.0, 0 // fees and prizes may be of different units
	for _, r := range server.Registrations() {
		paid.Add(paid, r.Fee.Big())
		race, err := client.Races.Get(ctx, r.Race)
		if err != nil {
			fmt.Println(err)
			return
		}
		for place, i := range race.Winners {
			if race.Participants[i].Number == r.Horse {
				won += race.Prizes[place].Float64()
				places++
			}
		}
	}
	fmt.Printf("entered %d races, took %d prizes\npaid %v, won %v\n", len(server.Registrations()), places, paid, won)
	// Output:
	// entered 56 races, took 22 prizes
	// paid 8400, won 12000
}
