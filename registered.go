package horseracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// UndecidedError is returned by [RacesService.Registered] if the reading does not decide. It
// matches ErrOutcomeUnknown.
type UndecidedError struct {
	RetryAt time.Time // when another reading can decide, or zero if a person has to look in the game
	Err     error     // why this reading does not decide
}

// Error names the cause, and when to read again.
func (e *UndecidedError) Error() string {
	hint := "look for the horse in the game before registering again"
	if !e.RetryAt.IsZero() {
		hint = "read the race again from " + e.RetryAt.UTC().Format(time.RFC3339) + " on"
	}
	return fmt.Sprintf("%v; the outcome is unknown: %s", e.Err, hint)
}

// Unwrap returns ErrOutcomeUnknown and the cause.
func (e *UndecidedError) Unwrap() []error { return []error{ErrOutcomeUnknown, e.Err} }

// After its deadline and its start a race may lack some horses for an hour, and all of them
// for two.
const listsAllAfter, listsAnyAfter = time.Hour, 2 * time.Hour

// Registered reads the race once, and reports whether the horse is registered: for a
// registration that ended in [ErrOutcomeUnknown]. It returns true if the race lists the
// horse. It returns false if the response was made at least an hour after both the
// registration deadline and the start, and the race lists others and not the horse: until
// then some may be listed later. This assumes that the service enforces the deadline.
//
// Register the horse again only after false with a nil error. Every error matches
// ErrOutcomeUnknown and is an [*UndecidedError], which says when another reading can decide.
// Without such a time only the game shows whether the fee is paid: the race is gone, lacks
// its deadline or its start, or lists nobody two hours after them.
//
// The time of a response is its Date minus its Age, or without a Date that of the local
// clock.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Registered(ctx context.Context, race RaceID, horse HorseNumber, opts ...CallOption) (bool, error) {
	op := raceOperation(race)
	op.noCache = true
	if problem := horse.problem(); problem != nil {
		return false, unknown(s.secrets.Error(op.invalid(problem)))
	}
	requested := time.Now()
	l, err := getEntries[Race](ctx, s.backend, op, opts)
	if err != nil {
		return false, failedReading(err)
	}
	var closed time.Time // deadline and start have passed
	var problem error
	isEmpty := false
	for i := range l.entries {
		e := &l.entries[i]
		r := &e.value
		switch {
		case r.Has(horse) && (r.MainRaceID == race || r.MainRaceID == 0 && len(l.entries) == 1):
			return true, nil
		case r.MainRaceID != race && r.MainRaceID != 0: // the horses of another race prove nothing
		case e.err != nil: // an entry that was read in part can show the horse, but not its absence
			problem = failedReading(e.err.ofResponse(l.record.ID))
		case r.MainRaceID == 0 || r.RegistrationDeadline.IsZero() || r.StartTime.IsZero():
			problem = unknown(fmt.Errorf("%v: the race lacks its id, its deadline or its start", l))
		default:
			isEmpty = isEmpty || len(r.Participants) == 0 || r.Has(0)
			for _, t := range []Timestamp{r.RegistrationDeadline, r.StartTime} {
				if t.After(closed) {
					closed = t.Time
				}
			}
		}
	}
	made, again := responseTime(l.record.Header, requested), closed.Add(listsAllAfter)
	switch {
	case problem != nil:
		return false, problem
	case closed.IsZero():
		return false, unknown(notRequested(l.record, "other races"))
	case made.Before(again):
		return false, &UndecidedError{again, fmt.Errorf("%v: the horse is not in the race so far", l)}
	case isEmpty && made.Before(closed.Add(listsAnyAfter)):
		return false, &UndecidedError{closed.Add(listsAnyAfter), fmt.Errorf("%v: the race lists nobody so far", l)}
	case isEmpty:
		return false, unknown(fmt.Errorf("%v: the race lists nobody, two hours after its deadline and its start", l))
	}
	return false, nil
}

// unknown returns the error of a reading, if another one cannot decide.
func unknown(err error) error { return &UndecidedError{Err: err} }

// failedReading returns the error of a reading that failed. Only if the service refuses to
// show the race, another one cannot decide.
func failedReading(err error) error {
	api, isAPI := errors.AsType[*APIError](err)
	if isAPI && !transport.IsTransient(api.StatusCode) || errors.Is(err, ErrInvalidArgument) {
		return unknown(err)
	}
	return &UndecidedError{time.Now().Add(retryAfterOf(err)), err}
}

// responseTime returns when the service made a response: Date minus Age. Without a
// Date it counts from when the request was made.
func responseTime(header http.Header, requested time.Time) time.Time {
	made := requested
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		made = date
	}
	age, _ := strconv.ParseInt(header.Get("Age"), 10, 32) // zero if unreadable, the largest one if too large
	return made.Add(-time.Duration(max(age, 0)) * time.Second)
}
