package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestAWaitIsReportedAfterFiveSecondsAndWhereNobodyLooksAfterAMinute(t *testing.T) {
	type between [2]time.Duration // seconds; zero if nothing is printed
	after := func(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }
	for name, test := range map[string]struct {
		fault           horseracingtest.Fault
		attended, other between // when the first line is printed
		isOver          bool    // the last line says so
	}{
		"it never responds":          {horseracingtest.Fault{Delay: time.Hour, Times: -1}, between{5, 5}, between{60, 65}, false},
		"half of a response":         {horseracingtest.Fault{Drip: time.Hour, Times: -1}, between{5, 5}, between{60, 65}, false},
		"it refuses a page":          {isOver: true, fault: horseracingtest.Fault{Status: 429, Header: after("20"), Times: 6}, attended: between{5, 5}, other: between{60, 70}},
		"it fails now and then":      {fault: horseracingtest.Fault{Status: 503, Skip: 20, Times: 3}},
		"it refuses a moment":        {fault: horseracingtest.Fault{Status: 429, Header: after("2"), Times: 2}},
		"it is slow, and that is it": {fault: horseracingtest.Fault{Delay: 4 * time.Second, Times: -1}},
	} {
		for attended, want := range map[bool]between{true: test.attended, false: test.other} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var lines atomic.Int64
				var last atomic.Value
				fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithHistory(300))
				defer fake.Close()
				fake.Inject(test.fault)
				p := &program{name: "horseracing", attended: attended, stderr: writer(func(text []byte) error {
					took := time.Since(began) / time.Second
					last.Store(string(text))
					if lines.Add(1) == 1 && (took < want[0] || took > want[1] || want[0] == 0) {
						t.Errorf("%s, attended %t: after %d s %s", name, attended, took, text)
					}
					return nil
				})}
				_, _ = fake.Client(p.reporting()...).Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 300)
				name := fmt.Sprintf("%s, attended %t: ", name, attended)
				text, _ := last.Load().(string)
				double.Equal(t, name+"it responds again, at last: "+text, test.isOver, strings.Contains(text, "the service responds again"))
				double.Equal(t, name+"a line is printed", want[0] > 0, lines.Load() > 0)
			})
		}
	}
}
