package doctor

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// examine runs the doctor on a service with readings, one of whose open races is past its
// deadline, and returns the findings by topic.
func examine(t *testing.T, readings horseracingtest.Readings) map[string]finding {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithReadings(readings), horseracingtest.WithHistory(400))
	defer fake.Close()
	fake.Advance(24 * time.Hour) // in which races finish as late as they do
	at := func(d time.Duration) horseracing.Timestamp { return horseracing.NewTimestamp(fake.Now().Add(d)) }
	fee, err := horseracing.ParseUnits("25", 18)
	if err != nil {
		t.Fatal(err)
	}
	fake.AddRaces(horseracing.Race{
		MainRaceID: 50_001, StartTime: at(time.Minute), RegistrationDeadline: at(-time.Minute), EntryFee: fee, Participants: []horseracing.RaceParticipant{{Number: 1}},
	})
	config := &Config{Requests: 150, Progress: func(string) {}}
	d := New(config)
	report, err := d.Examine(t.Context(), fake.Client(d.Options()...))
	if err != nil {
		t.Fatal(err)
	}
	findings := map[string]finding{}
	for _, f := range report.Findings {
		if (f.Mark == odd || f.Mark == bad) && f.Advice == "" {
			t.Errorf("%s: %s: what is different for the user?", f.Topic, f.Text)
		}
		findings[f.Topic] = f
	}
	return findings
}

func TestTheDoctorShowsTheReadingsOfTheService(t *testing.T) {
	literal := examine(t, horseracingtest.Readings{})
	for _, test := range []struct {
		readings horseracingtest.Readings
		topic    string
		mark     mark
		text     string
	}{
		{horseracingtest.Readings{Participants: "from start"}, "who is listed in a race", odd, "somebody is listed before the deadline in 0 of"},
		{horseracingtest.Readings{Participants: "in result"}, "who is listed in a race", odd, ", by id after the result in 1 of 1"},
		{horseracingtest.Readings{Participants: "until start"}, "who is listed in a race", odd, "by id after the result in 0 of 1"},
		{horseracingtest.Readings{OtherRace: true}, "the race or horse that was requested", bad, "races/"},
		{horseracingtest.Readings{OtherHorse: true}, "the race or horse that was requested", bad, "horses/"},
		{horseracingtest.Readings{Heats: true}, "races with one main_race_id", odd, "have the id of another race"},
		{horseracingtest.Readings{EmptyOpen: 3}, "empty lists of open races", odd, "of 4, while races are open"},
		{horseracingtest.Readings{Seconds: true}, "start times", bad, "are in seconds"},
		{horseracingtest.Readings{Inclusive: true}, "start_time_from", odd, "does a page include its own instant? yes"},
		{horseracingtest.Readings{Inclusive: true}, "bodies of GET requests", good, "they arrive"},
		{horseracingtest.Readings{TierName: "Omega"}, "tiers", odd, "1: Omega"},
		{horseracingtest.Readings{EmptyList: "null"}, "an empty list", good, "status 200, null"},
		{horseracingtest.Readings{EmptyList: "404"}, "an empty list", odd, "status 404"},
		{horseracingtest.Readings{LatestByFinish: true}, "the races of a page", bad, "a page is not of the latest starts"},
		{horseracingtest.Readings{WholeTokens: true}, "entry fees", odd, "to 2500 (4 digits)"},
		{horseracingtest.Readings{Members: map[string]string{"entry_fee": "null"}}, "entry fees", odd, "null or absent"},
		{horseracingtest.Readings{Members: map[string]string{"entry_fee": "0.5"}}, "entry fees", odd, "are not whole numbers"},
		{horseracingtest.Readings{DateOff: 3 * time.Hour}, "the header Date", odd, "off by the starts of races? yes"},
		{horseracingtest.Readings{DateOff: -3 * time.Hour}, "the header Date", odd, "off by the starts of races? yes"},
	} {
		t.Run(fmt.Sprintf("%+v", test.readings), func(t *testing.T) {
			t.Parallel()
			if f := literal[test.topic]; f.Mark != good {
				t.Errorf("of the literal service: %+v", f)
			}
			if f := examine(t, test.readings)[test.topic]; f.Mark != test.mark || !strings.Contains(f.Text, test.text) {
				t.Errorf("%s: %+v, want %s: %s", test.topic, f, test.mark, test.text)
			}
		})
	}
}

// Each row of docs/unknowns.md about a reading has a finding that names it, or says that
// reading alone cannot show it.
func TestTheRowsOfReadingsAndTheFindingsGoTogether(t *testing.T) {
	unknowns, err := os.ReadFile("../../../../docs/unknowns.md")
	if err != nil {
		t.Fatal(err)
	}
	hidden := map[string]bool{} // by row: the doctor cannot show it
	for _, row := range regexp.MustCompile(`(?m)^\| (R\d+) \|.*\| (.*) \|$`).FindAllStringSubmatch(string(unknowns), -1) {
		hidden[row[1]] = strings.HasPrefix(row[2], "nothing")
	}
	var named []string
	for _, f := range examine(t, horseracingtest.Readings{}) {
		if f.Row != "" && !slices.Contains(named, f.Row) {
			named = append(named, f.Row)
		}
		if _, ok := hidden[f.Row]; f.Row != "" && !ok {
			t.Errorf("%s names the row %s, which there is not", f.Topic, f.Row)
		}
	}
	for row, isHidden := range hidden {
		if slices.Contains(named, row) == isHidden {
			t.Errorf("docs/unknowns.md, %s: is there a finding? %v", row, !isHidden)
		}
	}
	if len(hidden) != 14 {
		t.Errorf("%d rows", len(hidden))
	}
}
