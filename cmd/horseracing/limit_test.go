package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestALimitIsWrittenInOneWord(t *testing.T) {
	for text, want := range map[string]horseracingtest.RequestLimit{
		"50/s":                         {PerWindow: 50, Window: time.Second, RetryAfter: "seconds"},
		"60/10s:sliding":               {PerWindow: 60, Window: 10 * time.Second, Sliding: true, RetryAfter: "seconds"},
		"300/m:burst=10":               {PerSecond: 5, Burst: 10, RetryAfter: "seconds"},
		"inflight=4:retry-after=none":  {InFlight: 4},
		"5/s:retry-after=date:headers": {PerWindow: 5, Window: time.Second, RetryAfter: "date", Headers: true},
	} {
		got, err := parseLimit(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
