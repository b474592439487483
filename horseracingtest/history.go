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

const (
	historyOpens     = 60 * minuteMillis // before the deadline
	historyPublishes = 5 * minuteMillis  // after the start
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
// [WithHistory] follow this option. Races of a tier whose id is unknown are not in the
// results.
func WithHistoryOf(races iter.Seq[horseracing.Race]) Option {
	return func(s *settings) { s.historyOf, s.history, s.perHour = races, 0, 0 }
}

// historicRace is a recorded race that is played.
type historicRace struct {
	opens int64
	race  *horseracing.Race
}

// readHistory returns the races in the order in which they open.
func readHistory(races iter.Seq[horseracing.Race]) ([]historicRace, error) {
	var history []historicRace
	for race := range races {
		switch {
		case race.MainRaceID <= 0:
			return nil, errors.New("history: a race has no MainRaceID")
		case race.StartTime.IsZero():
			return nil, fmt.Errorf("history: race %d has no StartTime", race.MainRaceID)
		}
		if race.RegistrationDeadline.IsZero() {
			race.RegistrationDeadline = race.StartTime
		}
		history = append(history, historicRace{race.RegistrationDeadline.UnixMilli() - historyOpens, &race})
	}
	if len(history) == 0 {
		return nil, errors.New("history: there is no race")
	}
	slices.SortFunc(history, func(a, b historicRace) int {
		return cmp.Or(cmp.Compare(a.opens, b.opens), cmp.Compare(a.race.MainRaceID, b.race.MainRaceID))
	})
	return history, nil
}

func (h *historicRace) begins() time.Time { return time.UnixMilli(h.opens).UTC() }

// openHistoric turns a recorded race into a live one.
func (w *world) openHistoric(h historicRace) *liveRace {
	r := w.convert(h.race)
	r.appears = r.start + historyPublishes
	result := r.race
	r.result = &result
	r.participants, r.finalOrder, r.winners, r.status = nil, nil, nil, ""
	for i, p := range result.participants {
		if horse := w.horse(p.horse); horse == nil || horse.owner < 0 {
			at := h.opens + int64(i+1)*(r.deadline-h.opens)/int64(len(result.participants)+1)
			r.joins = append(r.joins, join{at, p.horse})
		}
	}
	return r
}

// reveal gives a race its recorded result. Registered horses that did not really
// run follow those that did.
func (r *liveRace) reveal() {
	registered := r.participants
	r.race = *r.result
	for _, p := range registered {
		if !r.has(p.horse) {
			r.participants = append(r.participants, participant{horse: p.horse})
		}
	}
}

// ran reports whether a horse ran in a race that is played.
func (r *liveRace) ran(horse int64) bool { return r.result != nil && r.result.has(horse) }
