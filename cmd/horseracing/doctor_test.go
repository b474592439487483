package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestTheDoctorFindsNothingBrokenInTheFake(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithHistory(400))
	onlyReads(t, fake)
	transcript(t, fake, "doctor", map[string]string{"VERSION": horseracing.Version})
}

func TestTheDoctorCountsWhatFailedAndHow(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.RequireFaults(t)
	transcript(t, fake, "doctor-failures", nil)
}

// Behind a gateway that is dead the doctor ends at once; if one route fails, when that is clear.
func TestTheDoctorOfAServiceThatIsDownIsStatus5(t *testing.T) {
	t.Parallel()
	transcript(t, newFake(t), "doctor-down", nil)
	transcript(t, newFake(t), "doctor-down-route", nil)
	transcript(t, newFake(t), "doctor-cut", nil)
}

func TestAnInterruptedDoctorReportsWhatItFound(t *testing.T) {
	fake := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake.Handle("GET /api/v1/races/open", func(horseracingtest.Request) (horseracingtest.Response, bool) {
		cancel()
		return horseracingtest.Response{}, false
	})
	var printed bytes.Buffer
	status := runHere(t, ctx, fake, &program{stdout: &printed, stderr: &printed}, "doctor", "--json", "--rate", "1000")
	double.Equal(t, "the status", 130, status)
	for _, want := range []string{
		`"interrupted":true`, `"topic":"bodies of GET requests","mark":"ok"`, `"topic":"ids","mark":"skipped","text":"not examined: interrupted"`, `"code":"interrupted"`,
	} {
		double.FailIf(t, !strings.Contains(printed.String(), want), "%s is not in %s", want, &printed)
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
		double.FailIf(t, !strings.Contains(got.stdout, "[redacted]") || strings.Contains(all, fake.APIKey) || strings.Contains(all, string(fake.UserKey(0))), "%s: %s", form, all)
	}
}

func TestAReportForPeopleHasALineForWhatDiffers(t *testing.T) {
	t.Parallel()
	demo := run(t, nil, "doctor", "--demo", "--rate", "1000", "--table").stdout
	double.FailIf(t, !strings.HasPrefix(demo, "the embedded fake (--demo), examined ") || strings.Contains(demo, "attach it") || strings.Contains(demo, " \n"), "%v", demo)
	fake := newFake(t, horseracingtest.WithReadings(horseracingtest.Readings{Inclusive: true}))
	for form, want := range map[string]int{"--table": 1, "--verbose": 12, "--markdown": 12} {
		got := run(t, environment(fake), "doctor", "--rate", "1000", form)
		findings := regexp.MustCompile(`(?m)^(\* )?[✓!✗·] .* \(§`).FindAllString(got.stdout, -1)
		isSummed := strings.Contains(got.stdout, "✓ 11 of 12 as expected: bodies of GET requests,")
		double.FailIf(t, got.status != 0 || len(findings) != want || isSummed != (want == 1), "%s: %d findings: %s", form, len(findings), got.stdout)
	}
}
