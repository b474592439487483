package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWaitReturnsWithItsContextWhenRedisDoesNotRespond(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // connections complete, and nobody reads them
	client := connect(silent.Addr().String())
	defer client.Close()
	limiter := NewSharedLimiter(client, "test", Limit{Rate: 10, Burst: 10})

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = limiter.Wait(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nothing is sent") {
		t.Errorf("Wait = %v, want context.DeadlineExceeded", err)
	}
	if err := limiter.Wait(t.Context()); err == nil {
		t.Error("Wait gave permission that Redis did not")
	}
}

func TestOverrun(t *testing.T) {
	limit := Limit{Rate: 10, Burst: 2}
	for _, test := range []struct {
		name string
		at   []int // milliseconds
		want time.Duration
	}{
		{name: "a burst and then one per interval", at: []int{0, 0, 100, 200, 300}, want: 0},
		{name: "a burst too many", at: []int{0, 0, 0}, want: 100 * time.Millisecond},
		{name: "one comes 30 ms early", at: []int{0, 0, 70, 200}, want: 30 * time.Millisecond},
		{name: "the second burst comes after a pause", at: []int{0, 0, 5000, 5000}, want: 0},
		{name: "early ones add up beyond the burst", at: []int{0, 50, 100, 150}, want: 50 * time.Millisecond},
	} {
		var arrivals []time.Time
		for _, ms := range test.at {
			arrivals = append(arrivals, time.Unix(1000, 0).Add(time.Duration(ms)*time.Millisecond))
		}
		if got := overrun(arrivals, limit); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
