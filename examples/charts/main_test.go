package main

import (
	"bytes"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestThePicturesOfAFakeAreDrawn(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithHistory(400))
	defer fake.Close()
	byTier, last, err := read(t.Context(), fake.Client(), "4,5", 365)
	if err != nil || last != horseracing.TierOmega || len(byTier[4]) == 0 {
		t.Fatalf("%d races of tier 4, the last tier is %d, %v", len(byTier[4]), last, err)
	}
	folder := filepath.Join(t.TempDir(), "new", "pictures")
	if err := draw(byTier, last, 365, "a fake", folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fees.png", "starts.png", "times.png"} {
		picture, missing := os.ReadFile(filepath.Join(folder, name))
		_, err := png.Decode(bytes.NewReader(picture))
		if err := errors.Join(missing, err); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// race is a race of a length at an hour of the first of May, with a fee in tokens and one time.
func race(length, hour int, fee string, total float64) horseracing.Race {
	amount, _ := horseracing.ParseUnits(fee, 18)
	return horseracing.Race{
		Length: length, EntryFee: amount, StartTime: horseracing.NewTimestamp(time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC)),
		Participants: []horseracing.RaceParticipant{{Number: 1, Total: total}, {Number: 2}},
	}
}

func TestEachPictureSaysItsRacesUnitsAndSource(t *testing.T) {
	races := []horseracing.Race{race(3, 4, "1", 22), race(3, 4, "100", 23), race(5, 30, "0", 40)}
	about := caption(races, "tier 5", "https://game.test")
	if want := "3 races of tier 5, 1 May 2026 to 2 May 2026 (UTC); source: https://game.test"; about != want {
		t.Errorf("the caption is %q, want %q", about, want)
	}
	fees, errFees := drawFees(map[horseracing.TierID][]horseracing.Race{5: races}, about)
	starts, errStarts := drawStarts(races, about)
	times, errTimes := drawTimes(races, about)
	if err := errors.Join(errFees, errStarts, errTimes); err != nil {
		t.Fatal(err)
	}
	if fees.Y.Min >= 0 || fees.Y.Min < -0.2 || fees.Y.Max <= 2 || fees.Y.Max > 2.2 { // 1 to 100 tokens, with room; the free race is left out
		t.Errorf("fees from 10^%v to 10^%v, want a little more than 1 to 100", fees.Y.Min, fees.Y.Max)
	}
	if starts.Y.Max <= 1 || starts.Y.Max > 1.2 || !strings.HasSuffix(starts.Title.Text, "1.5 a day") { // two races at four on one of two days, below the end of the axis
		t.Errorf("%q, the axis ends at %v", starts.Title.Text, starts.Y.Max)
	}
	for p, parts := range map[*plot.Plot][]string{
		fees: {"tokens", "5 (2)"}, starts: {"(UTC)", "mean of 2 days", "03:00"}, times: {"furlongs", "unit not documented", "3\n(2)", "5\n(1)"},
	} {
		texts := p.X.Label.Text + p.Y.Label.Text
		for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			texts += " " + tick.Label
		}
		for _, part := range append(parts, about) {
			if !strings.Contains(texts, part) {
				t.Errorf("%q does not say %q: %q", p.Title.Text, part, texts)
			}
		}
	}
}

func TestALostConnectionDrawsNothing(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Skip: 3, Times: -1, ResetBefore: true})
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: time.Millisecond}))
	if _, _, err := read(t.Context(), client, "5", 365); err == nil {
		t.Error("half of the races are returned without an error")
	}
}
