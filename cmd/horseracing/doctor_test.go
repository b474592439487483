package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
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

func TestAnInterruptedDoctorReportsWhatItFound(t *testing.T) {
	fake := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake.Handle("GET /api/v1/horses/breeding/open", func(horseracingtest.Request) (horseracingtest.Response, bool) {
		cancel()
		return horseracingtest.Response{}, false
	})
	var stdout, stderr bytes.Buffer
	status := runHere(t, ctx, fake, &program{stdout: &stdout, stderr: &stderr}, "doctor", "--json", "--rate", "1000")
	var d diagnosis
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || status != 130 || !d.Interrupted || !strings.Contains(stderr.String(), `"code":"interrupted"`) {
		t.Fatalf("status %d, %v: %s%s", status, err, &stdout, &stderr)
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

func TestNoKeyAndNoCookieIsInAnyOutputOfTheDoctor(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	userKey := string(fake.UserKey(0))
	const cookie = "session-cookie-4711"
	fake.Inject(horseracingtest.Fault{Header: http.Header{"X-RateLimit-Key": {fake.APIKey}, "Set-Cookie": {cookie}}, Times: -1})
	fake.AddHorses(0, horseracing.Horse{Number: 1, Breed: userKey})
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(1e9)), Info: horseracing.RaceInfo{HippodromeType: fake.APIKey}})
	for _, form := range []string{"--json", "--markdown", "--table"} {
		got := run(t, environment(fake), "doctor", form, "--rate", "1000", "--requests", "60")
		if len(got.stdout) < 1000 || !strings.Contains(got.stdout, "[redacted]") {
			t.Errorf("%s: %s", form, got.stdout+got.stderr)
		}
		for _, secret := range []string{fake.APIKey, userKey, cookie} {
			if strings.Contains(got.stdout+got.stderr, secret) {
				t.Errorf("%s: a key or a cookie is in the output", form)
			}
		}
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
