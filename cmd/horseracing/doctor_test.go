package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// diagnosis is the doctor's report as JSON.
type diagnosis struct {
	Service, SDK, Go, System, Contains string
	Requests, Failed                   int
	Failures                           map[string]int
	Interrupted                        bool
	Findings                           []struct{ Section, Topic, Mark, Text, Advice string }
}

func (d diagnosis) text(topic string) string {
	for _, f := range d.Findings {
		if f.Topic == topic {
			return f.Mark + ": " + f.Text
		}
	}
	return "no finding"
}

// diagnose runs the doctor, and requires a status.
func diagnose(t *testing.T, status int, environment []string, args ...string) diagnosis {
	t.Helper()
	got := run(t, environment, append([]string{"doctor", "--json", "--rate", "1000"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || got.status != status {
		t.Fatalf("status %d, want %d: %v: %s", got.status, status, err, got.stderr)
	}
	return d
}

func TestTheDoctorFindsNothingBrokenInTheFake(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithHistory(400))
	d := diagnose(t, 0, environment(fake))
	for _, f := range d.Findings {
		if f.Mark == "broken" || f.Mark == "skipped" && f.Topic != "how late results appear" {
			t.Errorf("%+v", f)
		}
	}
	reference, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[4\\..* `GET .*\\| `(\\w+\\.\\w+)` \\|").FindAllStringSubmatch(string(reference), -1) {
		if d.text(row[1]) == "no finding" {
			t.Errorf("the doctor has no check of %s", row[1])
		}
	}
	if d.Requests > 150 || d.Failed != 0 || d.Requests != fake.RequestCount() {
		t.Errorf("%d requests, %d failed", d.Requests, d.Failed)
	}
	if d.SDK != horseracing.Version || d.Go != runtime.Version() || d.System != runtime.GOOS+"/"+runtime.GOARCH || !strings.Contains(d.Contains, "names the host and the hippodromes") {
		t.Errorf("%+v", d)
	}
	for _, request := range fake.Requests() {
		if request.Method != http.MethodGet {
			t.Errorf("it sent %s %s", request.Method, request.Path)
		}
	}
}

// TestTheDoctorExaminesEveryOpenPointThatReadingCanSettle holds the report
// against docs/unknowns.md.
func TestTheDoctorExaminesEveryOpenPointThatReadingCanSettle(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{
		"3":   true, // states show only over time
		"4.9": true, // it registers nothing
		"6":   true, // there are no events to read
		"9":   true, // how long a version stays cannot be read
	}
	for _, f := range diagnose(t, 0, environment(newFake(t, horseracingtest.WithHistory(400)))).Findings {
		covered[f.Section] = true
	}
	unknowns, err := os.ReadFile("../../docs/unknowns.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([0-9., ]+) \|`).FindAllStringSubmatch(string(unknowns), -1)
	for _, row := range rows {
		found := false
		for section := range strings.SplitSeq(row[1], ",") {
			found = found || covered[strings.TrimSpace(section)]
		}
		if !found {
			t.Errorf("docs/unknowns.md, section %s: the report has no line for it", row[1])
		}
	}
	if len(rows) < 20 {
		t.Errorf("only %d rows were read from docs/unknowns.md", len(rows))
	}
}

func TestTheDoctorEndsAtOnceIfThereIsNoServiceToExamine(t *testing.T) {
	t.Parallel()
	everything := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html><body>Welcome</body></html>")
	}))
	t.Cleanup(everything.Close)
	fake := newFake(t)
	for _, test := range []struct {
		environment string
		status      int
		words       string
	}{
		{"HORSERACING_API_KEY=wrong-key-000", 4, "the service does not accept the API key: check HORSERACING_API_KEY"},
		{"HORSERACING_BASE_URL=http://127.0.0.1:1", 5, "the service does not respond: check HORSERACING_BASE_URL"},
		{"HORSERACING_BASE_URL=" + everything.URL, 1, everything.URL + " does not respond as the service"},
	} {
		got := run(t, append(environment(fake), test.environment), "doctor")
		if got.status != test.status || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, test.words) {
			t.Errorf("%s: %+v", test.environment, got)
		}
		if fake.RequestCount() > 1 {
			t.Errorf("%s: %d requests", test.environment, fake.RequestCount())
		}
	}
}

func TestTheDoctorCountsWhatFailedAndHow(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(
		horseracingtest.Fault{Path: "/api/v1/horses/missions", Status: 503, Times: 2},
		horseracingtest.Fault{Path: "/api/v1/races/open", Status: 500, Times: 2},
		horseracingtest.Fault{Path: "/api/v1/horses/breeding", ResetAfter: true, Times: 2}, // net/http repeats the first on its own
	)
	fake.RequireFaults(t)
	d := diagnose(t, 1, environment(fake))
	if want := map[string]int{"500": 2, "503": 2, "no response": 1}; d.Failed != 5 || !cmp.Equal(d.Failures, want) {
		t.Errorf("%d failed, %v, want %v", d.Failed, d.Failures, want)
	}
	for topic, want := range map[string]string{
		"Races.Open":             "broken: GET /api/v1/races/open",
		"Horses.Missions":        "broken: GET /api/v1/horses/missions/",
		"Horses.OpenForBreeding": "ok: it decodes",
	} {
		if got := d.text(topic); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", topic, got, want)
		}
	}
}

func TestTheDoctorReportsLimits(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerWindow: 1000, Window: 1e9, Headers: true}))
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/missions", Skip: 1, Status: 429, Header: http.Header{"Retry-After": {"0"}}})
	d := diagnose(t, 0, environment(fake))
	for topic, want := range map[string][]string{
		"rate limits":                  {"note: 1 of "},
		"headers that announce limits": {"Retry-After on 1 responses", "Ratelimit-Limit on "},
	} {
		for _, part := range want {
			if got := d.text(topic); !strings.Contains(got, part) {
				t.Errorf("%s: %s, want %s", topic, got, part)
			}
		}
	}
}

func TestAnInterruptedDoctorReportsWhatItFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	fake := newFake(t)
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/horses/breeding", Delay: 3600e9})
	cmd := prepare(t, environment(fake), "doctor", "--json", "--rate", "1000")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		requests := fake.Requests()
		return len(requests) > 0 && strings.HasPrefix(requests[len(requests)-1].Path, "/api/v1/horses/breeding")
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	var d diagnosis
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || cmd.ProcessState.ExitCode() != 130 || !d.Interrupted {
		t.Fatalf("status %d, %v: %s", cmd.ProcessState.ExitCode(), err, &stdout)
	}
	for topic, want := range map[string]string{
		"Races.Open":              "ok: ",
		"how far back results go": "skipped: not examined: interrupted",
	} {
		if got := d.text(topic); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", topic, got, want)
		}
	}
}

func TestTheDoctorSendsNoMoreRequestsThanItMay(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 25} {
		fake := newFake(t)
		d := diagnose(t, 0, environment(fake), "--requests", fmt.Sprint(most))
		if d.Requests != most || fake.RequestCount() != most || !strings.Contains(d.text("how far back results go"), "no requests left") {
			t.Errorf("--requests %d: %d were sent: %s", most, fake.RequestCount(), d.text("how far back results go"))
		}
	}
}

// front is a service that is the fake, with changed bodies of requests and
// responses.
func front(t *testing.T, fake *horseracingtest.Server, request func(body []byte) []byte, response func(header http.Header, body []byte) []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, fake.URL+r.URL.Path, bytes.NewReader(request(body)))
		if err != nil {
			t.Error(err)
			return
		}
		out.Header = r.Header.Clone()
		out.Header.Del("Accept-Encoding")
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			return // the client is gone
		}
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
		if err != nil {
			return
		}
		body = response(w.Header(), body)
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func sameRequest(body []byte) []byte                 { return body }
func sameResponse(_ http.Header, body []byte) []byte { return body }

func TestTheDoctorNoticesWhatIsUnlikeTheDocumentation(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(http.Header, []byte) []byte {
		return func(_ http.Header, body []byte) []byte { return bytes.ReplaceAll(body, []byte(old), []byte(new)) }
	}
	for _, test := range []struct {
		name     string
		request  func([]byte) []byte
		response func(http.Header, []byte) []byte
		status   int
		topic    string
		want     string
	}{
		{"a dropped body", func([]byte) []byte { return nil }, sameResponse, 1, "bodies of GET requests", "broken: they do not arrive"},
		{"whole seconds", wholeSeconds, sameResponse, 1, "start_time_from", "broken: a request from one millisecond"},
		{"a new status", sameRequest, replace(`"In progress"`, `"Paused"`), 0, "Race.status", `note: undocumented: "Paused"`},
		{"a new field", sameRequest, replace(`"v2":`, `"weather":1,"v2":`), 0, "undocumented and missing fields", "note: /api/v1/races/open: unknown_field [].weather"},
		{"an entry that cannot be read", sameRequest, replace(`"main_race_id":2990,`, `"main_race_id":2990,"length":[],`), 1, "Races.Results", "broken: "},
		{"headers for caches", sameRequest, func(h http.Header, body []byte) []byte {
			h.Set("Cache-Control", "max-age=60")
			return body
		}, 0, "headers for caches", `ok: Cache-Control on `},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t)
			url := front(t, fake, test.request, test.response)
			d := diagnose(t, test.status, append(environment(fake), "HORSERACING_BASE_URL="+url), "--requests", "100")
			if got := d.text(test.topic); !strings.HasPrefix(got, test.want) {
				t.Errorf("%s: %s, want %s", test.topic, got, test.want)
			}
		})
	}
}

// wholeSeconds rounds the start_time_from of a request down to seconds.
func wholeSeconds(body []byte) []byte {
	return regexp.MustCompile(`("start_time_from":[0-9]+)[0-9]{3}`).ReplaceAll(body, []byte("${1}000"))
}

func TestNoKeyAndNoCookieIsInAnyOutputOfTheDoctor(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	userKey := string(fake.UserKey(0))
	const cookie = "session-cookie-4711"
	url := front(t, fake, sameRequest, func(h http.Header, body []byte) []byte {
		h.Set("X-RateLimit-Key", fake.APIKey)
		h.Set("Set-Cookie", cookie)
		body = bytes.ReplaceAll(body, []byte(`"Oval"`), []byte(`"`+fake.APIKey+`"`))
		return bytes.ReplaceAll(body, []byte(`"Stallion"`), []byte(`"`+userKey+`"`))
	})
	dir := t.TempDir()
	for _, form := range []string{"--json", "--markdown", "--table"} {
		got := run(t, append(environment(fake), "HORSERACING_BASE_URL="+url), "doctor", form, "--rate", "1000", "--requests", "60", "--record", filepath.Join(dir, form))
		if len(got.stdout) < 1000 || !strings.Contains(got.stdout, "[redacted]") {
			t.Errorf("%s: %s", form, got.stdout+got.stderr)
		}
		for _, secret := range []string{fake.APIKey, userKey, cookie} {
			if strings.Contains(got.stdout+got.stderr, secret) {
				t.Errorf("%s: a key or a cookie is in the output", form)
			}
		}
	}
	files := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(filepath.Join(dir, path))
		for _, secret := range []string{fake.APIKey, userKey, cookie} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("a key or a cookie is in %s", path)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were recorded, %v", files, err)
	}
}

func TestTheFormsOfAReport(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	service := append(environment(fake), "HORSERACING_USER_KEY=")
	table := run(t, service, "doctor", "--rate", "1000", "--requests", "12").stdout
	markdown := run(t, service, "doctor", "--rate", "1000", "--requests", "12", "--markdown").stdout
	clean := strings.NewReplacer(fake.URL, "http://host", runtime.Version(), "go1", runtime.GOOS+"/"+runtime.GOARCH, "os/cpu", horseracing.Version, "0")
	moving := regexp.MustCompile(`examined [-0-9: ]+UTC|median .* to the headers`)
	for name, text := range map[string]string{"doctor.table": table, "doctor.markdown": markdown} {
		golden(t, name, moving.ReplaceAllString(clean.Replace(text), "…"))
	}
}
