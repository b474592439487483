package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// doctorRun is what a run printed.
type doctorRun struct {
	status         int
	stdout, stderr string
}

func (r doctorRun) report(t *testing.T) report {
	t.Helper()
	var parsed report
	if err := json.Unmarshal([]byte(r.stdout), &parsed); err != nil {
		t.Fatalf("the report is no JSON: %v\n%s", err, r.stdout)
	}
	return parsed
}

func (r report) find(topic string) (finding, bool) {
	for _, f := range r.Findings {
		if f.Topic == topic {
			return f, true
		}
	}
	return finding{}, false
}

// examine runs the doctor against a service.
func examine(ctx context.Context, baseURL, apiKey, userKey string, args ...string) doctorRun {
	env := map[string]string{"HORSERACING_BASE_URL": baseURL, "HORSERACING_API_KEY": apiKey, "HORSERACING_USER_KEY": userKey}
	var stdout, stderr bytes.Buffer
	status := run(ctx, append([]string{"-rate", "1000"}, args...), func(name string) string { return env[name] }, &stdout, &stderr)
	return doctorRun{status, stdout.String(), stderr.String()}
}

func newFake(t *testing.T) *horseracingtest.Server {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	t.Cleanup(fake.Close)
	return fake
}

// front stands between the doctor and the fake, and changes what passes.
func front(t *testing.T, fake *horseracingtest.Server, request func(*http.Request), response func(*http.Response) error) string {
	target, err := url.Parse(fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			if request != nil {
				request(p.Out)
			}
		},
		ModifyResponse: response,
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAHealthyServiceHasNothingBroken(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	got := examine(t.Context(), fake.URL, fake.APIKey, string(fake.UserKey(0)), "-json")
	r := got.report(t)
	for _, f := range r.Findings {
		if f.Mark == bad || f.Mark == skipped && f.Topic != "how late results appear" {
			t.Errorf("%+v", f)
		}
	}
	if got.status != 0 {
		t.Errorf("exit status %d, want 0", got.status)
	}
	if r.Requests > 150 {
		t.Errorf("%d requests", r.Requests)
	}
	for _, request := range fake.Requests() {
		if request.Method != http.MethodGet {
			t.Errorf("the doctor sent a %s to %s", request.Method, request.Path)
		}
	}
}

// TestEveryOpenPointThatReadingCanSettleIsExamined holds the report against
// docs/unknowns.md: a section of which reading can find out something must have
// a line.
func TestEveryOpenPointThatReadingCanSettleIsExamined(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	r := examine(t.Context(), fake.URL, fake.APIKey, "", "-json").report(t)
	covered := map[string]bool{}
	last := 0
	for _, f := range r.Findings {
		covered[f.Section] = true
		if at := order(f.Section); at < last {
			t.Errorf("§%s comes after a later section", f.Section)
		} else {
			last = at
		}
	}
	beyondReading := map[string]string{
		"3":   "states show only over time",
		"4.9": "the doctor registers nothing",
		"6":   "there are no events to read",
		"9":   "how long a version stays cannot be read",
	}
	unknowns, err := os.ReadFile("../../docs/unknowns.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9., ]+) \|`).FindAllStringSubmatch(string(unknowns), -1) {
		rows++
		found := false
		for section := range strings.SplitSeq(row[1], ",") {
			section = strings.TrimSpace(section)
			found = found || covered[section] || beyondReading[section] != ""
		}
		if !found {
			t.Errorf("docs/unknowns.md, section %s: the report has no line for it", row[1])
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows were read from docs/unknowns.md", rows)
	}
}

func TestARefusedKeyIsBroken(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	const key = "a-key-that-is-not-accepted"
	got := examine(t.Context(), fake.URL, key, "", "-json")
	if f, ok := got.report(t).find("the key"); !ok || f.Mark != bad {
		t.Errorf("the key: %+v", f)
	}
	if got.status != 1 {
		t.Errorf("exit status %d, want 1", got.status)
	}
	if strings.Contains(got.stdout+got.stderr, key) {
		t.Errorf("the key is in the output:\n%s%s", got.stdout, got.stderr)
	}
}

func TestAServiceThatIsDownIsOneClearFinding(t *testing.T) {
	t.Parallel()
	got := examine(t.Context(), "http://127.0.0.1:1", "a-key", "", "-json")
	f, ok := got.report(t).find("connection")
	if !ok || f.Mark != bad || !strings.Contains(f.Text, "no response") {
		t.Errorf("connection: %+v", f)
	}
	if got.status != 1 {
		t.Errorf("exit status %d, want 1", got.status)
	}
}

func TestADroppedBodyIsNoticed(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	url := front(t, fake, func(r *http.Request) {
		r.Body, r.ContentLength = http.NoBody, 0
	}, nil)
	got := examine(t.Context(), url, fake.APIKey, "", "-json")
	f, _ := got.report(t).find("bodies of GET requests")
	if f.Mark != bad || f.Advice == "" {
		t.Errorf("bodies of GET requests: %+v", f)
	}
	if got.status != 1 {
		t.Errorf("exit status %d, want 1", got.status)
	}
}

func TestARaceThatCannotBeReadDoesNotMakeItsTierAnError(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	newest, err := fake.Client().Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Appendf(nil, `"main_race_id":%d,`, newest[0].MainRaceID)
	url := front(t, fake, func(r *http.Request) { r.Header.Del("Accept-Encoding") }, func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		body = bytes.Replace(body, id, append(bytes.Clone(id), `"length":[],`...), 1)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	})
	r := examine(t.Context(), url, fake.APIKey, "", "-json").report(t)
	if f, _ := r.find("tiers"); !strings.Contains(f.Text, "5: Omega") {
		t.Errorf("tiers: %+v", f)
	}
	if f, _ := r.find("Races.Results"); f.Mark != bad || !strings.Contains(f.Text, "/length") || !strings.Contains(f.Text, "other entries that decode: 19") {
		t.Errorf("Races.Results: %+v", f)
	}
	if f, _ := r.find("Horses.Get"); f.Mark != good {
		t.Errorf("a horse of another race: %+v", f)
	}
}

func TestNoMoreRequestsAreSentThanAllowed(t *testing.T) {
	t.Parallel()
	for _, most := range []string{"1", "2", "7", "25"} {
		fake := newFake(t)
		got := examine(t.Context(), fake.URL, fake.APIKey, "", "-json", "-requests", most)
		r := got.report(t)
		if sent := len(fake.Requests()); sent != r.Requests || most != strconv.Itoa(sent) {
			t.Errorf("-requests %s: %d were sent, the report says %d", most, sent, r.Requests)
		}
		if got.status != 0 {
			t.Errorf("-requests %s: exit status %d, want 0", most, got.status)
		}
	}
}

func TestAnInterruptKeepsWhatWasFound(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	var served atomic.Int64
	url := front(t, fake, nil, func(*http.Response) error {
		if served.Add(1) == 12 {
			cancel()
		}
		return nil
	})
	got := examine(ctx, url, fake.APIKey, "", "-json")
	r := got.report(t)
	if got.status != 130 || !r.Interrupted {
		t.Errorf("exit status %d, interrupted %t; want 130 and true", got.status, r.Interrupted)
	}
	if f, _ := r.find("the key"); f.Mark != good {
		t.Errorf("what was found before is not in the report: %+v", f)
	}
	if f, _ := r.find("how far back results go"); f.Mark != skipped {
		t.Errorf("what was not examined is not marked so: %+v", f)
	}
}

func TestNoKeyAndNoCookieIsInAnyOutput(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	userKey := string(fake.UserKey(0))
	const cookie = "session-cookie-4711"
	url := front(t, fake, nil, func(resp *http.Response) error {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		// Values and headers that echo what no one must see.
		body = bytes.ReplaceAll(body, []byte(`"Oval"`), []byte(`"`+fake.APIKey+`"`))
		body = bytes.ReplaceAll(body, []byte(`"Stallion"`), []byte(`"`+userKey+`"`))
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.ContentLength = int64(len(body))
		resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
		resp.Header.Set("X-RateLimit-Key", fake.APIKey)
		resp.Header.Set("Set-Cookie", cookie)
		return nil
	})
	dir := t.TempDir()
	for _, form := range []string{"-json", "-markdown", ""} {
		args := []string{"-record", filepath.Join(dir, form+"x")}
		if form != "" {
			args = append(args, form)
		}
		got := examine(t.Context(), url, fake.APIKey, userKey, args...)
		if len(got.stdout) < 1000 {
			t.Errorf("%s: the report is empty", form)
		}
		for _, secret := range []string{fake.APIKey, userKey, cookie} {
			if strings.Contains(got.stdout+got.stderr, secret) {
				t.Errorf("%s: a key or cookie is in the output", form)
			}
		}
	}
	files := 0
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		for _, secret := range []string{fake.APIKey, userKey, cookie} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds a key or cookie", filepath.Base(path))
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were recorded, %v", files, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		args    []string
		env     map[string]string
		want    int
		message string
	}{
		{"help", []string{"-h"}, nil, 0, "Examples:"},
		{"an unknown flag", []string{"-x"}, nil, 2, "-x"},
		{"an argument", []string{"now"}, nil, 2, `"now"`},
		{"no requests", []string{"-requests", "0"}, nil, 2, "-requests"},
		{"a rate of zero", []string{"-rate", "0"}, nil, 2, "-rate"},
		{"a rate that is no number", []string{"-rate", "NaN"}, nil, 2, "-rate"},
		{"two formats", []string{"-json", "-markdown"}, nil, 2, "exclude"},
		{"a negative watch", []string{"-watch", "-1s"}, nil, 2, "-watch"},
		{"half an environment", nil, map[string]string{"HORSERACING_API_KEY": "k"}, 2, "both"},
		{"plain http to a host", nil, map[string]string{"HORSERACING_API_KEY": "k", "HORSERACING_BASE_URL": "http://example.com"}, 2, "https"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), test.args, func(name string) string { return test.env[name] }, &stdout, &stderr)
		if status != test.want || !strings.Contains(stderr.String(), test.message) {
			t.Errorf("%s: exit status %d, want %d; it says %q", test.name, status, test.want, stderr.String())
		}
		if stdout.Len() > 0 {
			t.Errorf("%s: prints %q", test.name, stdout.String())
		}
	}
}

func TestFindingsReportTheFacts(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	at := func(starts ...int64) (entries []entry) {
		for i, start := range starts {
			entries = append(entries, entry{ID: int64(i + 1), Start: start})
		}
		return entries
	}
	for _, test := range []struct {
		topic   string
		facts   facts
		want    mark
		message string
	}{
		{"order inside a page", facts{Pages: []page{{0, at(5, 4, 4, 1)}, {2, at(1)}}}, good, "newest first in 2 of 2"},
		{"order inside a page", facts{Pages: []page{{0, at(5, 4)}, {4, at(1, 3)}}}, note, "newest first in 1 of 2"},
		{"races on one instant", facts{Pages: []page{{0, at(7, 7, 7, 7, 7, 7, 7, 7, 7, 7)}}}, note, "at most 10"},
		{"pages that do not fit", facts{Pages: []page{{4, at(4, 3)}}}, bad, "1 entries"},
		{"entries without a place", facts{Pages: []page{{0, at(4, 0)}}}, note, "1 entries"},
		{"duplicates within a page", facts{Pages: []page{{0, []entry{{ID: 1, Start: 3}, {ID: 1, Start: 3}}}}}, note, "1 in 1"},
		{"start_time_from", facts{Bound: &bound{true, true}}, good, "excludes"},
		{"start_time_from", facts{Bound: &bound{false, true}}, note, "includes"},
		{"start_time_from", facts{Bound: &bound{true, false}}, note, "whole seconds"},
		{"the default tier", facts{NoTier: &yes}, good, "tier 5"},
		{"the default tier", facts{NoTier: &no}, note, "name the tier"},
		{"no body at all", facts{Omitted: &no}, good, "does not read like"},
		{"how far back results go", facts{Oldest: &oldest{Start: time.Unix(0, 0).UTC(), Exact: true}}, good, "to 1970-01-01"},
		{"how late results appear", facts{WatchedFor: time.Minute, Lateness: []time.Duration{2 * time.Hour}}, note, "2h0m0s"},
		{"results by offset", facts{V1: &version1{Entries: 10, Order: "oldest first", Overlap: 5, Expected: 5}}, note, "oldest first"},
		{"Races.Get of an id that does not exist", facts{Unknown: map[string]*outcome{"Races.Get": {Status: 200, Shape: "an object with number"}}}, note, "status 200"},
		{"the id of a race", facts{RaceByID: &raceByID{MainID: &outcome{Status: 404, Shape: "null"}}}, bad, "does not return the race"},
		{"a request without a key", facts{NoKey: &outcome{Status: 200, Shape: "an HTML page"}}, note, "an HTML page"},
		{"values of Race.status", facts{Values: map[string]counts{"Race.status": {"": 1, "Finished": 2}}}, note, `undocumented: "Finished" (2)`},
		{"values of Race.status", facts{Values: map[string]counts{"Race.status": {"": 1}}}, good, "only documented"},
	} {
		r := report{Findings: test.facts.findings(traffic{})}
		f, ok := r.find(test.topic)
		if text := f.Text + " " + f.Advice; !ok || f.Mark != test.want || !strings.Contains(text, test.message) {
			t.Errorf("%s: %+v, want mark %q and %q", test.topic, f, test.want, test.message)
		}
	}
}

func TestTheFormsOfAReport(t *testing.T) {
	t.Parallel()
	r := report{Service: "https://example.com", SDK: "1", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Requests: 3, Findings: []finding{
		{"4.5", "tiers", good, "1: a|b <i>", ""},
		{"", "connection", bad, "no response", "check the network"},
		{"5", "the key", skipped, "not examined", ""},
	}}
	var table, markdown bytes.Buffer
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := r.writeMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	wantTable := `https://example.com, examined 2026-01-02 03:04 UTC

✓  §4.5  tiers       1: a|b <i>
✗        connection  no response
                       → check the network
·  §5    the key     not examined

3 requests: 1 as expected, 0 to look at, 1 broken, 1 not examined.
✓ as expected   ! worth a look   ✗ broken   · not examined   § section of docs/service.md
`
	if diff := cmp.Diff(wantTable, table.String()); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	if want := "| ✓ | §4.5 | tiers | 1: a\\|b &lt;i> |\n| ✗ |  | connection | no response → check the network |"; !strings.Contains(markdown.String(), want) {
		t.Errorf("the Markdown lacks %q:\n%s", want, markdown.String())
	}
}
