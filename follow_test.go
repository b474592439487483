package horseracing_test

import (
	"iter"
	"testing"
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
