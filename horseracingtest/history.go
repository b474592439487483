package horseracingtest

import (
	"iter"

	"github.com/horseracing-go/horseracing"
)

// WithHistoryOf plays recorded finished races as a live service, so that a program that
// registers horses can be tried on real races. The races are those of
// [horseracing.RacesService.Results], in any order.
//
// A race opens an hour before its registration deadline, without its result. The
// recorded horses, except those of the fake's users, enter until the deadline. The race
// takes any number of registrations. It is listed as open until its start, and is in
// the results five minutes later, with its recorded outcome. A registered horse that
// did not run in the recorded race pays the fee, and is listed after the recorded
// participants without a rank. A user's horse that did run is in the result even if it
// was not registered: use [Server.Registrations] to see what was registered and paid.
//
// Call [Server.AddHorses] before the first request to give a user horses to register.
// Every positive number is a valid horse. Without [WithClock] the clock starts when the
// first race opens. With it, races that are over when the fake starts are in the
// results. There are no other races and no tournaments, unless [WithSchedule] or
// [WithHistory] follow this option. Races whose tier has no known id are omitted from
// the results.
func WithHistoryOf(races iter.Seq[horseracing.Race]) Option {
	return func(s *settings) { s.historyOf, s.world.Races, s.world.PerHour = races, 0, 0 }
}
