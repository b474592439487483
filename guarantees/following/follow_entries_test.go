package following_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// unreadable damages a member of a race wherever it is shown.
func unreadable(id int) func([]byte) []byte {
	fee := regexp.MustCompile(fmt.Sprintf(`("main_race_id":%d,.*?"entry_fee":)\d+`, id))
	return func(body []byte) []byte { return fee.ReplaceAll(body, []byte(`$1{}`)) }
}

// brokenTimes counts the errors that name a race.
func (f *followed) brokenTimes(name string) (n int) {
	for _, text := range f.errors {
		if strings.Contains(text, name) {
			n++
		}
	}
	return n
}

func TestAnUnreadableRaceIsReportedOnce(t *testing.T) {
	t.Parallel()
	const lookback = time.Hour
	for name, test := range map[string]struct {
		repair    time.Duration // zero: never
		processes int
		handed    int
	}{
		"it stays unreadable":                        {0, 1, 0},
		"it stays unreadable, through restarts":      {0, 20, 0},
		"it can be read within Lookback":             {30 * time.Minute, 1, 1},
		"it can be read within Lookback, on restart": {30 * time.Minute, 20, 1},
		"it can be read too late":                    {3 * time.Hour, 1, 0},
	} {
		if testing.Short() && test.processes > 1 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				for i := range horseracing.RaceID(30) {
					fake.AddRaces(double.Finished(100+i, -time.Duration(30-i)*time.Minute)...)
				}
				d, client := damaged(fake, unreadable(115))
				if test.repair > 0 {
					go func() { time.Sleep(test.repair); d.repair() }()
				}
				go func() {
					for id := horseracing.RaceID(200); id < 380; id++ {
						time.Sleep(time.Minute)
						fake.AddRaces(double.Finished(id, -time.Second)...)
					}
				}()
				var f followed
				query := horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour), Lookback: lookback, Interval: time.Minute}
				for range test.processes {
					f.run(t, client, query, 4*time.Hour/time.Duration(test.processes))
				}
				if f.brokenTimes("115") != 1 || len(f.errors) != 1 || f.times[115] != test.handed || d.struck == 0 {
					t.Errorf("handed out %d times: %q", f.times[115], f.errors)
				}
				delete(f.times, 115)
				if diff := gocmp.Diff(once(100, 114, 116, 129, 200, 379), f.times); diff != "" {
					t.Error(diff)
				}
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		})
	}
}

func TestAnUnreadableRaceWithoutAnIDOrAStartIsReportedOnce(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"no id": func(b []byte) []byte {
			return []byte(strings.ReplaceAll(string(b), `"main_race_id":115,`, `"main_race_id":"?",`))
		},
		"no start": func(b []byte) []byte {
			return regexp.MustCompile(`("main_race_id":115,"start_time":)\d+`).ReplaceAll(b, []byte(`$1"soon"`))
		},
		"null": func(b []byte) []byte {
			return regexp.MustCompile(`\{"main_race_id":115,.*?\},(\{"main_race_id":114)`).ReplaceAll(b, []byte(`null,$1`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				for i := range horseracing.RaceID(30) {
					fake.AddRaces(double.Finished(100+i, -time.Duration(30-i)*time.Minute)...)
				}
				d, client := damaged(fake, change)
				var f followed
				f.run(t, client, horseracing.FollowQuery{Since: time.Now().Add(-2 * time.Hour)}, 20*time.Minute)
				if d.struck == 0 || len(f.errors) != 1 || f.times[115] != 0 || len(f.times) != 29 {
					t.Errorf("%d races, errors %q", len(f.times), f.errors)
				}
				d.repair()
				f.run(t, client, horseracing.FollowQuery{}, 20*time.Minute)
				if diff := gocmp.Diff(once(100, 129), f.times); diff != "" {
					t.Error(diff)
				}
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		})
	}
}
