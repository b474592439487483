package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// examine runs the doctor on a service with readings and faults, one of whose open races is past
// its deadline, and returns the findings by topic. A fault hits all requests, unless it has Times.
func examine(t *testing.T, readings horseracingtest.Readings, faults []horseracingtest.Fault) map[string]finding {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithReadings(readings), horseracingtest.WithHistory(400))
	defer fake.Close()
	fake.Advance(24 * time.Hour) // in which races finish as late as they do
	at := func(d time.Duration) horseracing.Timestamp { return horseracing.NewTimestamp(fake.Now().Add(d)) }
	fake.AddRaces(horseracing.Race{
		MainRaceID: 50_001, StartTime: at(time.Minute), RegistrationDeadline: at(-time.Minute), EntryFee: horseracing.NewBigInt(25e17),
		Participants: []horseracing.RaceParticipant{{Number: 1}},
	})
	for _, f := range faults {
		f.Times = cmp.Or(f.Times, -1)
		fake.Inject(f)
	}
	d := New(func(string) {})
	report, err := d.Examine(t.Context(), &connection.Service{Client: fake.Client(d.Options()...)})
	if err != nil && !errors.Is(err, ErrDown) {
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

// once makes the service respond with a body to one request to a path, after some others.
func once(path string, skip int, body string) horseracingtest.Fault {
	return horseracingtest.Fault{Path: path, Skip: skip, Times: 1, Status: 200, Body: body}
}

// dated makes all responses have a Date.
func dated(date string) horseracingtest.Fault {
	return horseracingtest.Fault{Header: http.Header{"Date": {date}}}
}

func TestEachCheckNoticesAnotherReading(t *testing.T) {
	type readings = horseracingtest.Readings
	type faults = []horseracingtest.Fault
	literal := examine(t, readings{}, nil)
	if len(literal) != 12 {
		t.Errorf("%d checks", len(literal))
	}
	const atBound, atMiddle = 14, 16 // pages before that from a millisecond after a race, and that from the middle of another
	const members = "undocumented and missing members"
	const later = `[{"main_race_id":1,"start_time":4000000000000}]`
	for _, test := range []struct {
		readings readings
		faults   faults
		topic    string
		mark     mark
		text     string
	}{
		{readings{}, faults{{IgnoreBody: true}}, "bodies of GET requests", bad, "they do not arrive"},
		{readings{}, faults{{Path: resultsPath, Status: 403, Body: `{"message":"no body, please"}`}}, "bodies of GET requests", bad, "a GET request with a body is refused: status 403, an object"},
		{readings{}, faults{once(resultsPath, 0, `[null,{"main_race_id":1,"start_time":1748700000000}]`)}, "bodies of GET requests", good, "they arrive"},
		{readings{}, faults{{Path: resultsPath, Status: 502}}, "bodies of GET requests", skipped, "not examined: status 502, not JSON"},
		{readings{}, faults{{Path: resultsPath, Status: 502}}, "tiers", skipped, "not examined"},
		{readings{}, faults{once(resultsPath, 5, `[{"main_race_id":1,"tier":"Omega"},{"main_race_id":2,"tier":"Beta"}]`)}, "tiers", odd, "4: Beta/Omega"},
		{readings{}, faults{once(resultsPath, 6, `[null,{"main_race_id":1,"tier":"Omega"}]`)}, "tiers", good, "5: Omega"},
		{readings{TierName: "Omega"}, nil, "tiers", odd, "1: Omega"},
		{readings{Inclusive: true}, nil, "start_time_from", odd, "includes races that start at this time"},
		{readings{Inclusive: true}, nil, "bodies of GET requests", good, "they arrive"},
		{readings{}, faults{once(resultsPath, atBound, "[]")}, "start_time_from", bad, "not read to the millisecond"},
		{readings{}, faults{once(resultsPath, atMiddle, later)}, "the races of a page", bad, "a page does not have the latest starts"},
		{readings{}, faults{once(openPath, 1, "[]")}, "empty lists", odd, "1 of 4 lists of open races were empty"},
		{readings{}, faults{{Path: openPath, Skip: 1, Status: 502, Times: 2}}, "empty lists", skipped, "not examined: status 502"},
		{readings{EmptyList: "null"}, nil, "empty lists", good, "status 200 and is null"},
		{readings{EmptyList: "404"}, nil, "empty lists", odd, "status 404"},
		{readings{Members: map[string]string{"start_time": "1748000000"}}, nil, "start times", bad, "are in seconds"},
		{readings{Members: map[string]string{"registration_deadline": "null"}}, nil, "start times", odd, "deadlines of open races"},
		{readings{Heats: true}, nil, "races with one main_race_id", odd, "have the id of another race"},
		{readings{Members: map[string]string{"entry_fee": "25"}}, nil, "entry fees", odd, "to 25 (2 digits)"},
		{readings{Members: map[string]string{"entry_fee": "null"}}, nil, "entry fees", odd, "null or absent"},
		{readings{Members: map[string]string{"entry_fee": "0.5"}}, nil, "entry fees", odd, "are not whole numbers"},
		{readings{Members: map[string]string{"entry_fee": "0.5"}}, nil, members, bad, "entry_fee"},
		{readings{Participants: "from start"}, nil, "who is listed in a race", odd, "horses are listed in 0 of"},
		{readings{Participants: "in result"}, nil, "who is listed in a race", odd, ", and in 1 of 1 finished races read by id"},
		{readings{Participants: "until start"}, nil, "who is listed in a race", odd, "in 0 of 1 finished races read by id"},
		{readings{}, faults{dated("Mon, 02 Jun 2025 15:00:00 GMT")}, "the header Date", odd, "compared with the starts of races, it is off by"},
		{readings{}, faults{dated("Mon, 02 Jun 2025 09:00:00 GMT")}, "the header Date", odd, "compared with the starts of races, it is off by"},
		{readings{}, faults{{Path: "/api/v1/races/", Status: 200, Body: `{"main_race_id":1}`}}, "ids", bad, "does not have the entry requested"},
		{readings{}, faults{{Path: "/api/v1/races/999999999999", Status: 400}}, "ids", odd, "a race that does not exist has status 400"},
		{readings{}, faults{{Path: openPath, Status: 200, Body: `[{"main_race_id":1,"weather":1}]`}}, members, odd, "unknown_field [].weather"},
		{readings{}, faults{{Path: "/api/v1/horses/breeding/open", Status: 429, Header: http.Header{"Retry-After": {"60"}}}}, members, skipped, "not examined: GET /api/v1/horses/breeding/open: status 429"},
		{readings{}, faults{once("/api/v1/missions", 1, `{"daily":[],"weekly":[]}`)}, members, odd, "MissionCatalogue: no monthly"},
	} {
		t.Run(fmt.Sprintf("%s %s", test.topic, test.text), func(t *testing.T) {
			t.Parallel()
			if f := literal[test.topic]; f.Mark != good {
				t.Errorf("of the literal service: %+v", f)
			}
			if f := examine(t, test.readings, test.faults)[test.topic]; f.Mark != test.mark || !strings.Contains(f.Text, test.text) {
				t.Errorf("%s: %+v, want %s: %s", test.topic, f, test.mark, test.text)
			}
		})
	}
}
