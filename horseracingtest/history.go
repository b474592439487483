package horseracingtest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// WithHistoryOf makes the fake run recorded races again, so that a program that registers
// horses can be tried on real races. Pass finished races that
// [horseracing.RacesService.Results] returned, in any order.
//
// A race opens an hour before its registration deadline, without its result. The recorded
// horses, except those of the fake's users, enter until the deadline. The race takes any
// number of registrations. It is listed as open until its start, and is in the results five
// minutes later, with its recorded outcome. A registered horse that did not run in the
// recorded race pays the fee, and is listed after the recorded participants without a rank. If
// a user's horse ran in the recorded race, it is in the result even if the program did not
// register it. [Server.Registrations] returns only what the program registered and paid.
//
// Call [Server.AddHorses] before the first request to give a user horses to register. Every
// positive number is a valid horse. Without [WithClock] the clock starts when the first race
// opens. With WithClock, races that are over when the fake starts are in the results. There
// are no other races and no tournaments, unless [WithSchedule] or [WithHistory] follow this
// option. Races whose tier has no known id are omitted from the results.
func WithHistoryOf(races iter.Seq[horseracing.Race]) Option {
	return func(s *settings) { s.historyOf, s.races, s.perHour = races, 0, 0 }
}

// pastRace is a finished race that opens again.
type pastRace struct {
	horseracing.Race
	opens time.Time
}

// readPast returns the races in the order in which they open.
func readPast(races iter.Seq[horseracing.Race]) ([]pastRace, error) {
	var past []pastRace
	for r := range races {
		switch {
		case r.MainRaceID <= 0:
			return nil, errors.New("history: a race has no MainRaceID")
		case r.StartTime.IsZero():
			return nil, fmt.Errorf("history: race %d has no StartTime", r.MainRaceID)
		}
		deadline := cmp.Or(r.RegistrationDeadline, r.StartTime)
		past = append(past, pastRace{r, deadline.Add(-time.Hour)})
	}
	if len(past) == 0 {
		return nil, errors.New("history: there is no race")
	}
	slices.SortFunc(past, func(a, b pastRace) int {
		return cmp.Or(a.opens.Compare(b.opens), cmp.Compare(a.MainRaceID, b.MainRaceID))
	})
	return past, nil
}

// reopened returns a race as it is when it opens again.
func (w *world) reopened(p pastRace) *race {
	r, err := w.given(p.Race)
	must(err) // readPast has checked it
	result := r.Race
	r.result, r.published = &result, r.start().Add(5*time.Minute)
	r.Participants, r.FinalOrder, r.Winners, r.Status = []horseracing.RaceParticipant{}, nil, nil, ""
	open := r.RegistrationDeadline.Sub(p.opens)
	for i, other := range result.Participants {
		if h := w.horse(other.Number); h == nil || h.owner < 0 {
			after := time.Duration(i+1) * open / time.Duration(len(result.Participants)+1)
			r.joins = append(r.joins, join{p.opens.Add(after), other.Number})
		}
	}
	return r
}
