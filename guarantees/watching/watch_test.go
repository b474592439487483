package watching_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// inTurn is a service that returns one list after the other, and then the last
// one; an empty text is a failure.
func inTurn(lists ...string) *double.Script {
	var steps []double.Step
	for _, text := range lists {
		if text == "" {
			steps = append(steps, double.Respond(500, ""))
		} else {
			steps = append(steps, double.Respond(200, text))
		}
	}
	return double.Play(steps...)
}

// lineOf returns a change, or an error, as a line.
func lineOf(c horseracing.RaceChange, err error) string {
	if err != nil {
		return "error"
	}
	line := string(c.Kind) + " " + c.Race.ID
	if c.Previous != nil {
		line += " was " + c.Previous.ID
	}
	return line
}

func TestWatchOpenReportsWhatChanged(t *testing.T) {
	const (
		a       = `{"_id":"a","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":1},{"number":2}]}`
		aMixed  = `{"_id":"a again","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":2},{"number":1}]}`
		aFuller = `{"_id":"fuller","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":3},{"number":2},{"number":1}]}`
		aOther  = `{"_id":"other","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":3},{"number":2}]}`
		aTwice  = `{"_id":"twice","main_race_id":1,"start_time":9000,"registration_deadline":5000,"participants":[{"number":2},{"number":2}]}`
		aStatus = `{"_id":"status","main_race_id":1,"start_time":9000,"registration_deadline":5000,"status":"In progress","participants":[{"number":1},{"number":2}]}`
		aLater  = `{"_id":"deadline","main_race_id":1,"start_time":9000,"registration_deadline":5001,"participants":[{"number":1},{"number":2}]}`
		aMoved  = `{"_id":"start","main_race_id":1,"start_time":9001,"registration_deadline":5000,"participants":[{"number":1},{"number":2}]}`
		b       = `{"_id":"b","main_race_id":2,"start_time":8000,"registration_deadline":5000,"participants":[]}`
		c       = `{"_id":"c","main_race_id":3,"start_time":7000,"registration_deadline":5000,"participants":[]}`
		d       = `{"_id":"end","main_race_id":4}` // ends a test
	)
	tests := map[string]struct {
		polls []string
		want  []string
	}{
		"the first poll reports what is open, by start": {[]string{double.List(a, b)}, []string{"opened b", "opened a"}},
		"no change":                              {[]string{double.List(a), double.List(a)}, []string{"opened a"}},
		"another order of races":                 {[]string{double.List(a, b), double.List(b, a)}, []string{"opened b", "opened a"}},
		"another order of participants":          {[]string{double.List(a), double.List(aMixed)}, []string{"opened a"}},
		"a participant more":                     {[]string{double.List(a), double.List(aFuller)}, []string{"opened a", "updated fuller was a"}},
		"another participant":                    {[]string{double.List(a), double.List(aOther)}, []string{"opened a", "updated other was a"}},
		"a participant in the place of another":  {[]string{double.List(a), double.List(aTwice)}, []string{"opened a", "updated twice was a"}},
		"another status":                         {[]string{double.List(a), double.List(aStatus)}, []string{"opened a", "updated status was a"}},
		"another deadline":                       {[]string{double.List(a), double.List(aLater)}, []string{"opened a", "updated deadline was a"}},
		"another start":                          {[]string{double.List(a), double.List(aMoved)}, []string{"opened a", "updated start was a"}},
		"closed ones first, by start":            {[]string{double.List(a, b), double.List(c)}, []string{"opened b", "opened a", "closed b was b", "closed a was a", "opened c"}},
		"closed with the last state":             {[]string{double.List(a), double.List(aFuller), `[]`}, []string{"opened a", "updated fuller was a", "closed fuller was fuller"}},
		"closed with a state that was no update": {[]string{double.List(a), double.List(aMixed), `[]`}, []string{"opened a", "closed a again was a again"}},
		"opened again":                           {[]string{double.List(a), `[]`, double.List(a)}, []string{"opened a", "closed a was a", "opened a"}},
		"a race that is listed twice":            {[]string{double.List(a, aFuller), double.List(a, aFuller)}, []string{"opened a"}},
		"a change after one that was no update":  {[]string{double.List(a), double.List(aMixed), double.List(aFuller)}, []string{"opened a", "updated fuller was a again"}},
		"a failed poll":                          {[]string{"", double.List(a), "", "", double.List(b)}, []string{"error", "opened a", "error", "error", "closed a was a", "opened b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := inTurn(append(test.polls, double.List(d))...).Client(t, double.NoRetries())
				var got []string
				for change, err := range client.Races.WatchOpen(t.Context(), horseracing.WatchQuery{}) {
					if err == nil && change.Race.ID == "end" {
						break
					}
					got = append(got, lineOf(change, err))
					if err == nil { // it belongs to the caller
						clear(change.Race.Participants)
						change.Race.Status = "mine"
					}
				}
				for len(got) > len(test.want) && strings.HasPrefix(got[len(got)-1], "closed") { // by the poll that ends the test
					got = got[:len(got)-1]
				}
				if diff := gocmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWatchOpenPollsAtItsInterval(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		for change, err := range fake.Client().Races.WatchOpen(ctx, horseracing.WatchQuery{Interval: time.Minute}) {
			t.Errorf("change %v, error %v", change, err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("ended after %v", took)
		}
		var waits []time.Duration
		requests := fake.Requests()
		for i := 1; i < len(requests); i++ {
			waits = append(waits, requests[i].Time.Sub(requests[i-1].Time))
		}
		slices.SortFunc(waits, cmp.Compare)
		if waits[0] < 54*time.Second || waits[len(waits)-1] > time.Minute+time.Second || len(slices.Compact(waits)) < 20 {
			t.Errorf("waits %v", waits)
		}
	}, horseracingtest.WithSchedule(0))
}
