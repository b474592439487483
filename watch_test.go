package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// story returns the changes and the errors that a watch yields until a race with the id "end"
// opens; an error with how many races its snapshot has.
func story(t *testing.T, polls []string, q horseracing.WatchQuery, opts ...horseracing.Option) (lines []string) {
	const end = `{"_id":"end","main_race_id":99}`
	var lists []httpmock.Responder
	for _, list := range append(polls, double.List(end), double.List(end)) {
		status := map[bool]int{false: http.StatusOK, true: http.StatusInternalServerError}[list == "500"]
		lists = append(lists, httpmock.NewStringResponder(status, list))
	}
	client := double.Client(t, double.InTurn(lists...), append(opts, double.NoRetries())...)
	for s, err := range client.Races.Watch(double.Within(t, 24*time.Hour), q) {
		if err != nil {
			lines = append(lines, fmt.Sprint("error ", len(s.Races)))
			double.Equal(t, "changes with an error", 0, len(s.Changes))
			continue
		}
		if len(s.Races) == 1 && s.Races[0].ObjectID == "end" {
			break
		}
		double.Equal(t, "the age of a snapshot", time.Duration(0), max(0, time.Since(s.At)))
		for _, c := range s.Changes {
			line := string(c.Kind) + " " + c.Race.ObjectID
			if c.Previous != nil {
				line += " was " + c.Previous.ObjectID
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestWatchReportsWhatChanged(t *testing.T) {
	a, b, c := listed(3, "a", 1, 2), strings.Replace(listed(4, "b"), "9004", "8000", 1), strings.Replace(listed(5, "c"), "9005", "7000", 1)
	aMixed, aFuller, aTwice := listed(3, "a again", 2, 1), listed(3, "fuller", 3, 2, 1), listed(3, "twice", 2, 2)
	changed := func(name, old, changed string) string { return strings.Replace(listed(3, name, 1, 2), old, changed, 1) }
	aStatus := changed("status", "{", `{"status":"In progress",`)
	aLater := changed("deadline", "{", `{"registration_deadline":5001,`)
	aMoved := changed("start", "9003", "9004")
	for name, test := range map[string]struct{ polls, want []string }{
		"the first poll reports what is open, by start": {[]string{double.List(a, b)}, []string{"opened b", "opened a"}},
		"no change":                              {[]string{double.List(a), double.List(a)}, []string{"opened a"}},
		"another order of participants":          {[]string{double.List(a), double.List(aMixed)}, []string{"opened a"}},
		"a participant more":                     {[]string{double.List(a), double.List(aFuller)}, []string{"opened a", "updated fuller was a"}},
		"a participant in the place of another":  {[]string{double.List(a), double.List(aTwice)}, []string{"opened a", "updated twice was a"}},
		"another status":                         {[]string{double.List(a), double.List(aStatus)}, []string{"opened a", "updated status was a"}},
		"another deadline":                       {[]string{double.List(a), double.List(aLater)}, []string{"opened a", "updated deadline was a"}},
		"another start":                          {[]string{double.List(a), double.List(aMoved)}, []string{"opened a", "closed a was a", "opened start"}},
		"two heats with one id":                  {[]string{double.List(a, aMoved), double.List(aMoved, a), double.List(aFuller, aMoved)}, []string{"opened a", "opened start", "updated fuller was a"}},
		"closed ones first, by start":            {[]string{double.List(a, b), double.List(c)}, []string{"opened b", "opened a", "closed b was b", "closed a was a", "opened c"}},
		"closed with a state that was no update": {[]string{double.List(a), double.List(aMixed), `[]`, `[]`}, []string{"opened a", "closed a again was a again"}},
		"opened again":                           {[]string{double.List(a), `[]`, `[]`, double.List(a)}, []string{"opened a", "closed a was a", "opened a"}},
		"one empty list":                         {[]string{double.List(a), `[]`, double.List(a), `null`, double.List(aFuller)}, []string{"opened a", "updated fuller was a"}},
		"a failed poll":                          {[]string{"500", double.List(a), "500", "500", double.List(b)}, []string{"error 0", "opened a", "error 1", "error 1", "closed a was a", "opened b"}},
	} {
		double.Run(t, name, func(t *testing.T) {
			double.Equal(t, "changes", test.want, story(t, test.polls, horseracing.WatchQuery{}))
		})
	}
}

// A program that is restarted does not report again what it has reported.
func TestWatchDoesNotReportKnownRacesAsOpened(t *testing.T) {
	a, b, later := listed(1, "a"), listed(2, "b"), listed(4, "later")
	synctest.Test(t, func(t *testing.T) {
		known := []horseracing.RaceID{1, 3, 4}
		got := story(t, []string{double.List(a, b), double.List(listed(1, "a1", 1), b, later), double.List(b), double.List(a, b)}, horseracing.WatchQuery{Known: known})
		double.Equal(t, "changes", []string{"opened b", "updated a1 was a", "closed a1 was a1", "closed later was later", "opened a"}, got)
		double.Equal(t, "the query", []horseracing.RaceID{1, 3, 4}, known)
	})
}

// Neither an empty list nor a race that cannot be read means that a race closed while the program did not run.
func TestWatchReportsWhatChangedSinceTheLastSnapshot(t *testing.T) {
	last := make([]horseracing.Race, 4)
	for i := range last {
		double.NoError(t, json.Unmarshal([]byte(listed(i+1, fmt.Sprint("last", i+1))), &last[i]))
	}
	unreadable := `{"_id":"x","main_race_id":1,"start_time":"soon"}`
	synctest.Test(t, func(t *testing.T) {
		got := story(t, []string{"500", "[]", double.List(unreadable, listed(2, "b"), listed(3, "c", 1), listed(5, "e"))}, horseracing.WatchQuery{Last: last})
		double.Equal(t, "changes", []string{"error 4", "closed last4 was last4", "opened e", "updated c was last3", "error 4"}, got)
	})
}

// A Retry-After is waited for, though the interval is shorter.
func TestWatchAndFollowPollAtTheirInterval(t *testing.T) {
	watch := func(ctx context.Context, c *horseracing.Client, interval time.Duration) error {
		return errorsOf(c.Races.Watch(ctx, horseracing.WatchQuery{Interval: interval}))
	}
	follow := func(ctx context.Context, c *horseracing.Client, interval time.Duration) error {
		return errorsOf(c.Races.Follow(horseracing.FollowQuery{Interval: interval}).All(ctx))
	}
	for name, test := range map[string]struct {
		loop           func(context.Context, *horseracing.Client, time.Duration) error
		interval, want time.Duration
	}{
		"a watch": {watch, time.Minute, time.Minute}, "a watch by default": {watch, 0, 15 * time.Second},
		"a follower": {follow, time.Minute, time.Minute}, "a follower by default": {follow, 0, 30 * time.Second},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			fake.Inject(horseracingtest.Fault{Status: 500, Header: http.Header{"Retry-After": {"1800"}}})
			began := time.Now()
			err := test.loop(double.Within(t, 30*time.Minute-time.Second), fake.Client(double.NoRetries()), time.Minute)
			double.Error(t, "the first poll", horseracing.ErrServer, "", err)
			double.Equal(t, "requests in half an hour", 1, len(fake.Requests()))
			fake.ResetLog()
			double.Error(t, "the polls", nil, "", test.loop(double.Within(t, time.Hour), fake.Client(), test.interval))
			polls, least := 0, int(time.Hour/test.want) // each wait is up to a tenth less than the interval
			for _, request := range fake.Requests() {
				if !strings.Contains(string(request.Body), "start_time_from") {
					polls++
				}
			}
			double.Equal(t, "time of both", 90*time.Minute-time.Second, time.Since(began))
			double.FailIf(t, polls < least+2 || polls > least*10/9+2, "%d polls, but one in %v was wanted", polls, test.want)
		}, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(1))
	}
}

// listed is an open race as JSON; its _id is what [story] returns.
func listed(id int, name string, horses ...int) string {
	participants := make([]string, len(horses))
	for i, n := range horses {
		participants[i] = fmt.Sprintf(`{"number":%d}`, n)
	}
	return fmt.Sprintf(`{"_id":%q,"main_race_id":%d,"start_time":%d,"participants":[%s]}`, name, id, 9000+id, strings.Join(participants, ","))
}

// It keeps its last state, and its error comes once, or goes to the handler.
func TestWatchKeepsTheLastStateOfAnUnreadableRace(t *testing.T) {
	const (
		broken   = `{"_id":"x","main_race_id":1,"start_time":"soon"}`
		nameless = `{"_id":"x","main_race_id":"one","start_time":9001}`
		without  = `{"_id":"x","start_time":9001}`
	)
	a, a1, b, c := listed(1, "a"), listed(1, "a1", 1), listed(2, "b"), listed(3, "c")
	for name, test := range map[string]struct{ polls, want []string }{
		"it keeps its last state":                   {[]string{double.List(a), double.List(broken), double.List(broken), double.List(a1)}, []string{"opened a", "error 1", "updated a1 was a"}},
		"what changes beside it is reported":        {[]string{double.List(a), double.List(broken, b), double.List(broken), double.List(a)}, []string{"opened a", "opened b", "error 2", "closed b was b"}},
		"it closes when it is gone":                 {[]string{double.List(a), double.List(broken), double.List(c)}, []string{"opened a", "error 1", "closed a was a", "opened c"}},
		"it is no change when it can be read again": {[]string{double.List(a), double.List(broken), double.List(a), double.List(broken)}, []string{"opened a", "error 1", "error 1"}},
		"listed twice, once readable":               {[]string{double.List(a1, broken), double.List(a1)}, []string{"opened a1", "error 1"}},
		"without a readable id nothing closes":      {[]string{double.List(a, b), double.List(nameless), double.List(nameless), double.List(c)}, []string{"opened a", "opened b", "error 2", "closed a was a", "closed b was b", "opened c"}},
		"what is null is no race":                   {[]string{double.List(a, b), double.List(a, "null"), double.List(c)}, []string{"opened a", "opened b", "closed b was b", "error 1", "closed a was a", "opened c"}},
		"without any id nothing closes":             {[]string{double.List(a, b), double.List(without, c), double.List(c)}, []string{"opened a", "opened b", "opened c", "error 3", "closed a was a", "closed b was b"}},
	} {
		double.Run(t, name, func(t *testing.T) {
			double.Equal(t, "changes", test.want, story(t, test.polls, horseracing.WatchQuery{}))
			handled := 0
			handler := horseracing.WithSkipHandler(func(_ context.Context, err error) {
				_, ok := errors.AsType[*horseracing.DecodeError](err)
				double.Equal(t, fmt.Sprintf("%v is a DecodeError", err), true, ok)
				handled++
			})
			want := slices.DeleteFunc(slices.Clone(test.want), func(line string) bool { return strings.HasPrefix(line, "error") })
			double.Equal(t, "changes with a handler", want, story(t, test.polls, horseracing.WatchQuery{}, handler))
			double.Equal(t, "handled", len(test.want)-len(want), handled)
		})
	}
}
