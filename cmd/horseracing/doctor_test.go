package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// diagnosis is the doctor's report as JSON.
type diagnosis struct {
	SDK, Contains    string
	Requests, Failed int
	Failures         map[string]int
	Interrupted      bool
	Findings         []struct{ Topic, Mark, Text string }
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
	onlyReads(t, fake)
	d := diagnose(t, 0, environment(fake))
	for _, f := range d.Findings {
		if f.Mark != "ok" {
			t.Errorf("%+v", f)
		}
	}
	if d.Requests > 150 || d.Failed != 0 || d.Requests != fake.RequestCount() || d.SDK != horseracing.Version || d.Contains == "" {
		t.Errorf("%+v", d)
	}
}

func TestTheDoctorCountsWhatFailedAndHow(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(
		horseracingtest.Fault{Path: "/api/v1/horses/missions", Status: 503, Times: 2},
		horseracingtest.Fault{Path: "/api/v1/horses/breeding", ResetAfter: true, Times: 2}, // net/http repeats the first on its own
	)
	fake.RequireFaults(t)
	d := diagnose(t, 0, environment(fake))
	if want := map[string]int{"503": 2, "no response": 1}; d.Failed != 3 || !cmp.Equal(d.Failures, want) {
		t.Errorf("%d failed, %v, want %v", d.Failed, d.Failures, want)
	}
	if got := d.text("undocumented and missing members"); !strings.HasPrefix(got, "skipped: not examined: GET /api/v1/horses/missions/") {
		t.Errorf("%s", got)
	}
}

// Behind a gateway that is dead the doctor ends at once; if one route fails, when that is clear.
func TestTheDoctorOfAServiceThatIsDownIsStatus5(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(horseracingtest.Fault{Status: 502, Times: -1})
	expect(t, environment(fake), result{status: 5, stderr: "GET /api/v1/missions: status 502"}, "doctor", "--rate", "1000")
	if n := fake.RequestCount(); n > 6 {
		t.Errorf("%d requests", n)
	}
	fake = newFake(t)
	fake.Inject(horseracingtest.Fault{Path: "/api/v2/races/results", Status: 502, Times: -1})
	d := diagnose(t, 5, environment(fake))
	if got := d.text("who is listed in a race"); d.Requests > 12 || !strings.HasPrefix(got, "skipped: ") {
		t.Errorf("%d requests, %s", d.Requests, got)
	}
}

func TestAnInterruptedDoctorReportsWhatItFound(t *testing.T) {
	fake := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake.Handle("GET /api/v1/races/open", func(horseracingtest.Request) (horseracingtest.Response, bool) {
		cancel()
		return horseracingtest.Response{}, false
	})
	var stdout, stderr bytes.Buffer
	status := runHere(t, ctx, fake, &program{stdout: &stdout, stderr: &stderr}, "doctor", "--json", "--rate", "1000")
	var d diagnosis
	err := json.Unmarshal(stdout.Bytes(), &d)
	if err != nil || status != 130 || !d.Interrupted || !strings.Contains(stderr.String(), `"code":"interrupted"`) {
		t.Errorf("status %d, %v: %s%s", status, err, &stdout, &stderr)
	}
	before, after := d.text("bodies of GET requests"), d.text("ids")
	if !strings.HasPrefix(before, "ok: ") || after != "skipped: not examined: interrupted" {
		t.Errorf("%s; %s", before, after)
	}
}

func TestNoKeyIsInAnyOutputOfTheDoctor(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	keys := fake.APIKey + " " + string(fake.UserKey(0))
	fake.Handle("GET /api/v2/races/results", func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: `[{"main_race_id":1,"start_time":1748000001000,"tier":"` + keys + `"}]`}, true
	})
	for _, form := range []string{"--json", "--markdown", "--table"} {
		got := run(t, environment(fake), "doctor", form, "--rate", "1000", "-v")
		all := got.stdout + got.stderr
		if !strings.Contains(got.stdout, "[redacted]") || strings.Contains(all, fake.APIKey) || strings.Contains(all, string(fake.UserKey(0))) {
			t.Errorf("%s: %s", form, all)
		}
	}
}

func TestAReportForPeopleHasALineForWhatDiffers(t *testing.T) {
	t.Parallel()
	demo := run(t, nil, "doctor", "--demo", "--rate", "1000", "--table").stdout
	if !strings.HasPrefix(demo, "the embedded fake (--demo), examined ") || strings.Contains(demo, "attach it") || strings.Contains(demo, " \n") {
		t.Error(demo)
	}
	fake := newFake(t, horseracingtest.WithReadings(horseracingtest.Readings{Inclusive: true}))
	for form, want := range map[string]int{"--table": 1, "--verbose": 12, "--markdown": 12} {
		got := run(t, environment(fake), "doctor", "--rate", "1000", form)
		findings := regexp.MustCompile(`(?m)^(\* )?[✓!✗·] .* \(§`).FindAllString(got.stdout, -1)
		isSummed := strings.Contains(got.stdout, "✓ 11 of 12 as expected: bodies of GET requests,")
		if got.status != 0 || len(findings) != want || isSummed != (want == 1) {
			t.Errorf("%s: %d findings: %s", form, len(findings), got.stdout)
		}
	}
}
