package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// feed is what every browser is fed from.
type feed struct {
	client   *horseracing.Client
	interval time.Duration
	last     atomic.Pointer[poll] // of the open races
	follower *horseracing.Follower[horseracing.Race]
	results  *results
	tier     horseracing.TierID // of the results
	started  time.Time
}

func newFeed(client *horseracing.Client, interval time.Duration, tier horseracing.TierID) *feed {
	f := &feed{
		client: client, interval: interval,
		follower: client.Races.Follow(horseracing.FollowQuery{
			Tier: tier, Since: time.Now().Add(-2 * time.Hour), Interval: interval,
		}),
		results: &results{last: []result{}, changed: make(chan struct{})},
		tier:    tier,
		started: time.Now(),
	}
	f.last.Store(&poll{next: make(chan struct{})})
	return f
}

// poll is what a poll of the open races brought, for any number of readers.
type poll struct {
	horseracing.Snapshot
	err  error
	next chan struct{} // closed when the next poll is there
}

// run polls until the context ends, and prints when the service fails and when it
// is back.
func (f *feed) run(ctx context.Context, out io.Writer) {
	var polls sync.WaitGroup
	defer polls.Wait()
	polls.Go(func() {
		for race, err := range f.follower.All(ctx) {
			if err == nil { // any failure is that of the open races too
				f.results.add(resultOf(race))
			}
		}
	})
	failed := ""
	for snapshot, err := range f.client.Races.Watch(ctx, horseracing.WatchQuery{Interval: f.interval}) {
		last := f.last.Swap(&poll{snapshot, err, make(chan struct{})})
		close(last.next)
		failure := ""
		if err != nil {
			failure = program.Explain(err)
		}
		switch {
		case failure == failed:
		case failure == "":
			fmt.Fprintln(out, "web: the service responds again")
		default:
			fmt.Fprintln(out, "web:", failure)
		}
		failed = failure
	}
}

const lastResults = 20

// results are the last results, for any number of readers.
type results struct {
	mu      sync.Mutex
	last    []result // newest first; replaced, never changed
	changed chan struct{}
}

func (r *results) add(one result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = append([]result{one}, r.last[:min(len(r.last), lastResults-1)]...)
	slices.SortStableFunc(r.last, func(a, b result) int { return b.start.Compare(a.start) })
	close(r.changed)
	r.changed = make(chan struct{})
}

// get returns the last results, and a channel that is closed when there are others.
func (r *results) get() ([]result, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.changed
}

// openRace is an open race as the page shows it. Times are milliseconds since
// the epoch.
type openRace struct {
	ID         horseracing.RaceID `json:"id"`
	Name       string             `json:"name"`
	Hippodrome string             `json:"hippodrome"`
	Type       string             `json:"type"`
	Length     int                `json:"length"`
	Fee        string             `json:"fee"`   // in whole tokens, exactly
	Units      string             `json:"units"` // the fee as it is on the wire, to sort and filter by
	Free       int                `json:"free"`
	Places     string             `json:"places"` // "3 of 12 free"
	Levels     string             `json:"levels"`
	MinLevel   int                `json:"minLevel"`
	MaxLevel   int                `json:"maxLevel"`
	Deadline   int64              `json:"deadline"`
	Tier       string             `json:"tier"`
}

func openRaceOf(r *horseracing.Race) openRace {
	return openRace{
		ID: r.MainRaceID, Name: r.Info.Name, Hippodrome: r.Info.HippodromeName, Type: program.Wins(r), Length: r.Length,
		Fee: program.Tokens(r.EntryFee), Units: r.EntryFee.String(), Free: r.FreePlaces(), Places: program.Places(r),
		Levels: program.Levels(r), MinLevel: r.MinLevel, MaxLevel: r.MaxLevel, Deadline: r.RegistrationDeadline.UnixMilli(),
		Tier: string(r.Tier),
	}
}

// result is a finished race as the page shows it.
type result struct {
	ID    horseracing.RaceID `json:"id"`
	Name  string             `json:"name"`
	Began string             `json:"began"`
	Text  string             `json:"text"`
	start time.Time
}

func resultOf(r *horseracing.Race) result {
	text := fmt.Sprintf("%d furlongs", r.Length)
	if winner, ok := r.Winner(); ok {
		text = fmt.Sprintf("#%d, %v, %s", winner.Number, winner.Total, text)
	}
	return result{
		ID: r.MainRaceID, Name: r.Info.Name, Began: r.StartTime.UTC().Format("2 Jan 15:04"), Text: text, start: r.StartTime.Time,
	}
}

// state is how the service does, as visitors see it: what failed is for the
// terminal alone.
type state struct {
	At      int64  `json:"at"`      // the last successful poll, in milliseconds since the epoch, or zero
	Started int64  `json:"started"` // when polling began
	Trouble string `json:"trouble"` // of the last poll
}

func (f *feed) state(s *poll) state {
	one := state{Started: f.started.UnixMilli()}
	if !s.At.IsZero() {
		one.At = s.At.UnixMilli()
	}
	switch {
	case s.err == nil:
	case errors.Is(s.err, horseracing.ErrUnauthorized), errors.Is(s.err, horseracing.ErrForbidden):
		one.Trouble = "The service does not accept the API key"
	default:
		one.Trouble = "The service does not respond"
	}
	return one
}
