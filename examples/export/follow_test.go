package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// breaker garbles the JSON of one race.
type breaker struct {
	http.RoundTripper
	race   horseracing.RaceID
	mended atomic.Bool
	struck atomic.Int32
}

func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil || b.mended.Load() {
		return response, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	garbled := bytes.ReplaceAll(body, fmt.Appendf(nil, `"main_race_id":%d,`, b.race), []byte(`"main_race_id":"?",`))
	if !bytes.Equal(garbled, body) {
		b.struck.Add(1)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(garbled)), int64(len(garbled))
	return response, nil
}

func TestFollowStartedAgainReadsThePageThatItCouldNotRead(t *testing.T) {
	for _, test := range []struct {
		name       string
		mend       time.Duration // after the race finished; 0: only when it has ended
		end        time.Duration
		wantNewest time.Duration // at least so close to the end comes the point to resume from; 0: before the race
	}{
		{"while the page is broken", 0, 7 * time.Hour, 0},
		{"as soon as the page is whole", 7*time.Hour + 10*time.Minute, 7*time.Hour + 20*time.Minute, 0},
		{"long after", 7 * time.Hour, 12 * time.Hour, 2 * time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followABrokenRace(t, test.mend, test.end, test.wantNewest) })
		})
	}
}

func followABrokenRace(t *testing.T, mend, end, wantNewest time.Duration) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now),
		horseracingtest.WithHistory(50), horseracingtest.WithSchedule(20))
	defer fake.Close()
	broken := &breaker{RoundTripper: fake.HTTPClient().Transport, race: 900_001}
	client, err := horseracing.NewClient(fake.URL, fake.APIKey, horseracing.WithHTTPClient(&http.Client{Transport: broken}))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "races")
	o := options{out: name, tier: horseracing.TierOmega, concurrency: 1, interval: 30 * time.Second}
	s, err := openStore(t.Context(), name+".sqlite", fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	start := func() *walk {
		w, err := s.walk(t.Context(), o.tier, o.since, o.before)
		if err == nil {
			err = crawl(t.Context(), client, s, w, o, io.Discard)
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}

	w := start()
	ctx, stop := context.WithCancel(t.Context())
	followed := make(chan error)
	go func() { followed <- follow(ctx, client, s, w, o, io.Discard) }()
	time.Sleep(2 * time.Hour)
	finishedAt := time.Now()
	fake.AddRaces(finished(fake, broken.race, 0))
	if mend > 0 {
		time.Sleep(mend)
		broken.mended.Store(true)
	}
	time.Sleep(end - mend)
	stop()
	<-followed
	if broken.struck.Load() == 0 {
		t.Fatal("the race's page was never asked for: the test shows nothing")
	}
	if n := count(t, s.db, `SELECT count(*) FROM races WHERE start_time > ?`, finishedAt.Add(2*time.Hour).UnixMilli()); n == 0 {
		t.Fatal("follow handed out nothing beyond the page: the test shows nothing")
	}
	if newest := instant(int64(count(t, s.db, `SELECT newest FROM walks`))); wantNewest == 0 && newest.After(finishedAt) || wantNewest > 0 && time.Since(newest) > wantNewest {
		t.Errorf("ended at %v it resumes from %v; the race finished at %v", time.Now(), newest, finishedAt)
	}

	broken.mended.Store(true)
	start()
	for id := range history(t, fake) {
		if n := count(t, s.db, `SELECT count(*) FROM races WHERE race_id = ?`, id); n != 1 {
			t.Errorf("race %d is not stored", id)
		}
	}
}
