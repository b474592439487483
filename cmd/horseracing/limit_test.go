package main

import (
	"strconv"
	"strings"
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
		"5/h:path=/api/v2":             {PerWindow: 5, Window: time.Hour, RetryAfter: "seconds", Path: "/api/v2"},
		"5/h:count-refused":            {PerWindow: 5, Window: time.Hour, RetryAfter: "seconds", CountRefused: true},
	} {
		got, err := parseLimit(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestALimitThatCannotBeReadIsAnErrorThatQuotesIt(t *testing.T) {
	for _, text := range []string{"", "50", "50/x", "0/s", "1.5/s", "50/-1s", "inflight=0", "inflight=4:sliding", "50/s:often", "50/s:burst=x", "50/s:retry-after=minutes", "50/s:path=api"} {
		if _, err := parseLimit(text); err == nil || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
