package world

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

// Recorded is a finished race that is played as a live one.
type Recorded struct {
	opens int64
	race  *horseracing.Race
}

// ReadRecorded returns the races in the order in which they open.
func ReadRecorded(races iter.Seq[horseracing.Race]) ([]Recorded, error) {
	var history []Recorded
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
		history = append(history, Recorded{race.RegistrationDeadline.UnixMilli() - historyOpens, &race})
	}
	if len(history) == 0 {
		return nil, errors.New("history: there is no race")
	}
	slices.SortFunc(history, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.opens, b.opens), cmp.Compare(a.race.MainRaceID, b.race.MainRaceID))
	})
	return history, nil
}

// Opens is when the race opens.
func (r *Recorded) Opens() time.Time { return time.UnixMilli(r.opens).UTC() }

// openHistoric turns a recorded race into a live one.
func (w *World) openHistoric(h Recorded) *liveRace {
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
