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
