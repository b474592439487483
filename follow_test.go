package horseracing_test

import (
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Several goroutines that range over one pager would get some races twice, and miss others.
func TestPagersAndFollowersRefuseASecondLoopAtATime(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithHistory(30), horseracingtest.WithSchedule(0))
	defer fake.Close()
	races := fake.Client().Races
	for name, loop := range map[string]iter.Seq2[*horseracing.Race, error]{
		"a pager":    races.Results(horseracing.ResultsQuery{Concurrency: 4}).All(t.Context()),
		"a follower": races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)}).CatchUp(t.Context()),
	} {
		n := 0
		for range double.Each(t, loop) {
			if n++; n == 5 {
				errs := make(chan error, 1)
				go func() { errs <- errorsOf(loop) }()
				double.Error(t, name+": a second loop", horseracing.ErrInvalidArgument, "another loop", <-errs)
			}
			if n == 15 {
				break
			}
		}
		for range double.Each(t, loop) {
			n++
		}
		double.Equal(t, name+": races of the first loop and of one after it", 30, n)
	}
}

// A store can keep members that the types lack.
func TestFollowerJSONIsWhatWasReceivedOfTheEntryYieldedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, broken = `{"main_race_id":1,"start_time":1700000000000,"weather":"wet"}`, `{"main_race_id":2,"start_time":1700000060000,"places":[]}`
		f := double.Client(t, listing("["+broken+","+first+"]")).Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)})
		received := []string{string(f.JSON())}
		for range f.CatchUp(t.Context()) {
			received = append(received, string(f.JSON()))
		}
		double.Equal(t, "before the first entry, of a race, and of one that cannot be read", []string{"", first, broken}, received)
	})
}
