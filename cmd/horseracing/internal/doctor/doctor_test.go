package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
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
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithReadings(readings), horseracingtest.WithHistory(400))
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
	d := New(&Config{Progress: func(string) {}})
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

func always(faults ...horseracingtest.Fault) func(*horseracingtest.Server) {
	return func(s *horseracingtest.Server) {
		for _, f := range faults {
			f.Times = -1
			s.Inject(f)
		}
	}
}

// responding makes an operation respond with bodies, one after another, in place of its own.
func responding(pattern string, bodies ...string) func(*horseracingtest.Server) {
	return func(s *horseracingtest.Server) {
		n := 0
		s.Handle(pattern, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			n++
			if n > len(bodies) {
				return horseracingtest.Response{}, false
			}
			return horseracingtest.Response{Body: bodies[n-1]}, true
		})
	}
}

// wholeSeconds sends a start_time_from rounded down to seconds.
type wholeSeconds struct{ http.RoundTripper }

var milliseconds = regexp.MustCompile(`("start_time_from":[0-9]+)[0-9]{3}`)

func (r wholeSeconds) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(milliseconds.ReplaceAll(body, []byte("${1}000"))))
	}
	return r.RoundTripper.RoundTrip(req)
}

func TestEachCheckNoticesAnotherReading(t *testing.T) {
	type readings = horseracingtest.Readings
	seconds := horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper { return wholeSeconds{next} })
	literal := examine(t, readings{}, nil)
	if len(literal) != 12 {
		t.Errorf("%d checks", len(literal))
	}
	for _, test := range []struct {
		readings readings
		prepare  func(*horseracingtest.Server)
		opts     []horseracing.Option
		topic    string
		mark     mark
		text     string
	}{
		{prepare: always(horseracingtest.Fault{IgnoreBody: true}), topic: "bodies of GET requests", mark: bad, text: "they do not arrive"},
		{readings: readings{TierName: "Omega"}, topic: "tiers", mark: odd, text: "1: Omega"},
		{readings: readings{Inclusive: true}, topic: "start_time_from", mark: odd, text: "includes races that start at this time"},
		{readings: readings{Inclusive: true}, topic: "bodies of GET requests", mark: good, text: "they arrive"},
		{opts: []horseracing.Option{seconds}, topic: "start_time_from", mark: bad, text: "not read to the millisecond"},
		{prepare: latestByID, topic: "the races of a page", mark: bad, text: "a page does not have the latest starts"},
		{prepare: responding("GET "+openPath, "[]", "[]"), topic: "empty lists", mark: odd, text: "2 of 4 lists of open races were empty"},
		{readings: readings{EmptyList: "null"}, topic: "empty lists", mark: good, text: "status 200 and is null"},
		{readings: readings{EmptyList: "404"}, topic: "empty lists", mark: odd, text: "status 404"},
		{readings: readings{Members: map[string]string{"start_time": "1748000000"}}, topic: "start times", mark: bad, text: "are in seconds"},
		{readings: readings{Heats: true}, topic: "races with one main_race_id", mark: odd, text: "have the id of another race"},
		{readings: readings{Members: map[string]string{"entry_fee": "25"}}, topic: "entry fees", mark: odd, text: "to 25 (2 digits)"},
		{readings: readings{Members: map[string]string{"entry_fee": "null"}}, topic: "entry fees", mark: odd, text: "null or absent"},
		{readings: readings{Members: map[string]string{"entry_fee": "0.5"}}, topic: "entry fees", mark: odd, text: "are not whole numbers"},
		{readings: readings{Members: map[string]string{"entry_fee": "0.5"}}, topic: "undocumented and missing members", mark: bad, text: "entry_fee"},
		{readings: readings{Participants: "from start"}, topic: "who is listed in a race", mark: odd, text: "horses are listed in 0 of"},
		{readings: readings{Participants: "in result"}, topic: "who is listed in a race", mark: odd, text: ", and in 1 of 1 finished races read by id"},
		{readings: readings{Participants: "until start"}, topic: "who is listed in a race", mark: odd, text: "in 0 of 1 finished races read by id"},
		{prepare: dated(3 * time.Hour), topic: "the header Date", mark: odd, text: "compared with the starts of races, it is off by"},
		{prepare: dated(-3 * time.Hour), topic: "the header Date", mark: odd, text: "compared with the starts of races, it is off by"},
		{prepare: always(horseracingtest.Fault{Path: "/api/v1/races/", Status: 200, Body: `{"main_race_id":1}`}), topic: "ids", mark: bad, text: "does not have the entry requested"},
		{prepare: always(horseracingtest.Fault{Path: "/api/v1/races/999999999999", Status: 400}), topic: "ids", mark: odd, text: "a race that does not exist has status 400"},
		{prepare: always(horseracingtest.Fault{Path: openPath, Status: 200, Body: `[{"main_race_id":1,"weather":1}]`}), topic: "undocumented and missing members", mark: odd, text: "/api/v1/races/open: unknown_field [].weather"},
		{prepare: responding("GET /api/v1/missions", `{"daily":[],"weekly":[],"monthly":[]}`, `{"daily":[],"weekly":[]}`), topic: "undocumented and missing members", mark: odd, text: "MissionCatalogue: no monthly"},
	} {
		t.Run(fmt.Sprintf("%s %s", test.topic, test.text), func(t *testing.T) {
			t.Parallel()
			if f := literal[test.topic]; f.Mark != good {
				t.Errorf("of the literal service: %+v", f)
			}
			if f := examine(t, test.readings, test.prepare, test.opts...)[test.topic]; f.Mark != test.mark || !strings.Contains(f.Text, test.text) {
				t.Errorf("%s: %+v, want %s: %s", test.topic, f, test.mark, test.text)
			}
		})
	}
}

// dated makes the service's Date differ from its time.
func dated(off time.Duration) func(*horseracingtest.Server) {
	return func(s *horseracingtest.Server) {
		always(horseracingtest.Fault{Header: http.Header{"Date": {s.Now().Add(off).UTC().Format(http.TimeFormat)}}})(s)
	}
}

// latestByID makes a page that of the highest ids, which are not those of the latest starts.
func latestByID(s *horseracingtest.Server) {
	start := s.Now().Add(-300 * time.Minute).UnixMilli()
	s.Handle("GET "+resultsPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		body := struct {
			From int64 `json:"start_time_from"`
		}{From: math.MaxInt64}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return horseracingtest.Response{Status: 400}, true
		}
		var page []string
		for id := 200; id > 0 && len(page) < 10; id-- {
			at := start + int64(id)*60_000
			if id%10 == 7 {
				at += 5 * 60_000
			}
			if at < body.From {
				page = append(page, fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, id, at))
			}
		}
		return horseracingtest.Response{Body: "[" + strings.Join(page, ",") + "]"}, true
	})
}
