package doctor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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
// deadline, once it is prepared, and returns the findings by topic.
func examine(t *testing.T, readings horseracingtest.Readings, prepare func(*horseracingtest.Server), opts ...horseracing.Option) map[string]finding {
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
	if prepare != nil {
		prepare(fake)
	}
	d := New(&Config{Requests: 150, Progress: func(string) {}})
	report, err := d.Examine(t.Context(), fake.Client(append(d.Options(), opts...)...))
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
	literal := examine(t, horseracingtest.Readings{}, nil)
	for _, test := range []struct {
		readings horseracingtest.Readings
		topic    string
		mark     mark
		text     string
	}{
		{horseracingtest.Readings{Participants: "from start"}, "who is listed in a race", odd, "somebody is listed before the deadline in 0 of"},
		{horseracingtest.Readings{Participants: "in result"}, "who is listed in a race", odd, ", by id after the result in 1 of 1"},
		{horseracingtest.Readings{Participants: "until start"}, "who is listed in a race", odd, "by id after the result in 0 of 1"},
		{horseracingtest.Readings{Heats: true}, "races with one main_race_id", odd, "have the id of another race"},
		{horseracingtest.Readings{EarlyResults: true}, "finished races without a final_order", odd, "1 of "},
		{horseracingtest.Readings{Inclusive: true}, "start_time_from", odd, "does a page include its own instant? yes"},
		{horseracingtest.Readings{Inclusive: true}, "bodies of GET requests", good, "they arrive"},
		{horseracingtest.Readings{TierName: "Omega"}, "tiers", odd, "1: Omega"},
		{horseracingtest.Readings{EmptyList: "null"}, "an empty list", good, "status 200, null"},
		{horseracingtest.Readings{EmptyList: "404"}, "an empty list", odd, "status 404"},
		{horseracingtest.Readings{Members: map[string]string{"entry_fee": "null"}}, "entry fees", odd, "null or absent"},
		{horseracingtest.Readings{Members: map[string]string{"entry_fee": "0.5"}}, "entry fees", odd, "are not whole numbers"},
		{horseracingtest.Readings{Members: map[string]string{"entry_fee": "0.5"}}, "Races.Results", bad, "entries that decode: 0 of "},
		{horseracingtest.Readings{Members: map[string]string{"status": `"Paused"`}}, "Race.status", odd, `undocumented: "Paused"`},
	} {
		t.Run(fmt.Sprintf("%+v", test.readings), func(t *testing.T) {
			t.Parallel()
			if f := literal[test.topic]; f.Mark != good {
				t.Errorf("of the literal service: %+v", f)
			}
			if f := examine(t, test.readings, nil)[test.topic]; f.Mark != test.mark || !strings.Contains(f.Text, test.text) {
				t.Errorf("%s: %+v, want %s: %s", test.topic, f, test.mark, test.text)
			}
		})
	}
}

// wholeSeconds sends a start_time_from rounded down to seconds.
type wholeSeconds struct{ http.RoundTripper }

var seconds13 = regexp.MustCompile(`("start_time_from":[0-9]+)[0-9]{3}`)

func (w wholeSeconds) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(seconds13.ReplaceAll(body, []byte("${1}000"))))
	}
	return w.RoundTripper.RoundTrip(r)
}

func TestTheDoctorNoticesWhatIsUnlikeTheDocumentation(t *testing.T) {
	always := func(faults ...horseracingtest.Fault) func(*horseracingtest.Server) {
		return func(s *horseracingtest.Server) {
			for _, f := range faults {
				f.Times = -1
				s.Inject(f)
			}
		}
	}
	limited := func(s *horseracingtest.Server) {
		s.SetRequestLimit(horseracingtest.RequestLimit{PerWindow: 1000, Window: time.Second, Headers: true})
		s.Inject(horseracingtest.Fault{Path: "/api/v1/missions", Skip: 1, Status: 429, Header: http.Header{"Retry-After": {"0"}}})
	}
	seconds := horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper { return wholeSeconds{next} })
	for _, test := range []struct {
		name    string
		prepare func(*horseracingtest.Server)
		opts    []horseracing.Option
		topic   string
		mark    mark
		texts   []string
	}{
		{"a dropped body", always(horseracingtest.Fault{IgnoreBody: true}), nil, "bodies of GET requests", bad, []string{"they do not arrive"}},
		{"whole seconds", nil, []horseracing.Option{seconds}, "start_time_from", bad, []string{"a request from one millisecond"}},
		{"a new field", always(horseracingtest.Fault{Path: "/api/v1/races/open", Status: 200, Body: `[{"main_race_id":1,"weather":1}]`}), nil,
			"undocumented and missing fields", odd, []string{"/api/v1/races/open: unknown_field [].weather"}},
		{"headers for caches", always(horseracingtest.Fault{Header: http.Header{"Cache-Control": {"max-age=60"}}}), nil,
			"headers for caches", good, []string{"Cache-Control on "}},
		{"limits", limited, nil, "rate limits", odd, []string{"1 of "}},
		{"limits", limited, nil, "headers that announce limits", good, []string{"Retry-After on 1 responses", "Ratelimit-Limit on "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := examine(t, horseracingtest.Readings{}, test.prepare, test.opts...)[test.topic]
			for _, text := range test.texts {
				if f.Mark != test.mark || !strings.Contains(f.Text, text) {
					t.Errorf("%s: %+v, want %s: %s", test.topic, f, test.mark, text)
				}
			}
		})
	}
}

// Each row of docs/unknowns.md that reading can settle has a finding, which names it if it
// is about a reading.
func TestTheRowsOfTheUnknownsAndTheFindingsGoTogether(t *testing.T) {
	unknowns, err := os.ReadFile("../../../../docs/unknowns.md")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{
		"3": true, // states show only over time
		"6": true, // there are no events to read
		"9": true, // how long a version stays cannot be read
	}
	findings := examine(t, horseracingtest.Readings{}, nil)
	for _, f := range findings {
		covered[f.Section], covered[f.Row] = true, true
	}
	readings := map[string]bool{"": true}
	rows := regexp.MustCompile(`(?m)^\| (R\d+|[0-9., ]+) \|.*\| (.*) \|$`).FindAllStringSubmatch(string(unknowns), -1)
	for _, row := range rows {
		isHidden := strings.HasPrefix(row[2], "nothing")
		if hasFinding := slices.ContainsFunc(strings.Split(row[1], ", "), func(name string) bool { return covered[name] }); hasFinding == isHidden {
			t.Errorf("docs/unknowns.md, %s: is there a finding? %t", row[1], hasFinding)
		}
		if strings.HasPrefix(row[1], "R") {
			readings[row[1]] = true
		}
	}
	for topic, f := range findings {
		if !readings[f.Row] {
			t.Errorf("%s names the row %s, which there is not", topic, f.Row)
		}
	}
	if len(readings) != 1+14 || len(rows) < 34 {
		t.Errorf("%d rows, %d of them about readings", len(rows), len(readings)-1)
	}
}
