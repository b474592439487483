package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/registration"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// UndecidedError is returned by [RacesService.Registered] if the response does not show
// whether the horse is registered. It matches ErrOutcomeUnknown.
type UndecidedError struct {
	RetryAt time.Time // when another call can decide, or zero if none can and a person has to look in the game
	Err     error     // why this response does not decide
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

// Registered reads the race once and reports whether the horse is registered. Call it after a
// registration that ended with ErrOutcomeUnknown, and register the horse again only if it
// returns false and a nil error.
//
// It returns true if the race lists the horse. If the race lists other horses only, it returns
// false in two cases:
//
//   - The race has a final order that names every horse on its list.
//   - The race was read at least an hour after its registration deadline or its start,
//     whichever is later. By then its list is assumed to be complete, because the service
//     should have enforced the deadline.
//
// Otherwise the race may not list the horse yet, and Registered returns an error. Every error
// matches ErrOutcomeUnknown and is an [*UndecidedError]. Its RetryAt is when another call can
// decide: usually an hour or two after the race has closed, by the service's clock. If the
// race could not be read, RetryAt is when the response's Retry-After ends, or a minute after
// the call if there is none. If no later call can decide, RetryAt is zero, and only the game
// shows whether the fee is paid. This is so, for example, if the race does not exist or lacks
// its deadline or its start, if it still lists no horse two hours after both, or if the API
// key is refused. Wait for a minute at least between two calls, since the local clock may be
// ahead of the service's.
//
// The time at which the race was read is the Date of the response minus its Age. If the
// response has no Date, it is the time of the local clock.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Registered(ctx context.Context, race RaceID, horse HorseNumber, opts ...CallOption) (bool, error) {
	op := raceOperation(race)
	op.noCache, op.misuse = true, horse.problem()
	requested := time.Now()
	l, err := getEntries[Race](ctx, backendOf(s), op, opts)
	if err != nil {
		return false, failedReading(err)
	}
	made := responseTime(l.header, requested)
	var unread *UndecidedError   // of the first entry that may hide the horse
	var unlisted *UndecidedError // of the first entry that may list it later
	isFound := false
	for i := range l.entries {
		e := &l.entries[i]
		is, mayBe := e.value.MainRaceID == race, e.value.MainRaceID == 0
		isFound = isFound || is
		switch {
		case e.value.Has(horse) && (is || mayBe && len(l.entries) == 1):
			return true, nil
		case e.err != nil && (is || mayBe): // what was read of it shows horses, and not that one is absent
			unread = cmp.Or(unread, failedReading(e.err.ofResponse(l.info.ID)))
		case is && e.value.Has(0): // it may be the horse
			unread = cmp.Or(unread, e.value.mayList(made, l.response))
		case is:
			unlisted = cmp.Or(unlisted, e.value.mayList(made, l.response))
		case mayBe:
			unread = cmp.Or(unread, &UndecidedError{Err: l.notRequested("a race without an id")})
		}
	}
	switch undecided := cmp.Or(unread, unlisted); {
	case undecided != nil:
		return false, undecided
	case !isFound:
		return false, &UndecidedError{Err: l.notRequested("other races")}
	}
	return false, nil
}

// mayList returns why a horse that the race did not list at a time may still be registered,
// or nil if it is not. Some horses may be listed only an hour after the race has closed.
func (r *Race) mayList(at time.Time, resp *response) *UndecidedError {
	undecided := func(until time.Time, why string) *UndecidedError {
		if r.Has(0) {
			return &UndecidedError{until, fmt.Errorf("%s: the race lists a horse without its number, and %s", resp, why)}
		}
		return &UndecidedError{until, notListed(fmt.Errorf("%s: %s", resp, why), resp.header)}
	}
	finishers, err := r.Finishers()
	listsOthers := len(r.Participants) > 0 && !r.Has(0)
	closed := r.RegistrationDeadline.Time
	if r.StartTime.After(closed) {
		closed = r.StartTime.Time
	}
	hour, twoHours := closed.Add(time.Hour), closed.Add(2*time.Hour)
	switch {
	case listsOthers && err == nil && len(finishers) == len(r.Participants):
		return nil
	case r.RegistrationDeadline.IsZero() || r.StartTime.IsZero():
		return undecided(time.Time{}, "the race lacks its deadline or its start")
	case at.Before(hour):
		return undecided(hour, "the horse is not in the race so far")
	case listsOthers:
		return nil
	case at.Before(twoHours):
		return undecided(twoHours, "the race lists nobody so far")
	}
	return undecided(time.Time{}, "the race lists nobody, two hours after its deadline and its start")
}

// notListed returns the cause of an UndecidedError for a response that shows that the race does not
// list the horse. One from a cache may be older than the registration.
func notListed(err error, header http.Header) error {
	if ageOf(header) > 0 {
		return err
	}
	return &registration.NotListedError{Err: err}
}

// failedReading returns the error of a reading that failed. Another one can decide, unless
// the service refuses to show the race.
func failedReading(err error) *UndecidedError {
	api, isAPI := errors.AsType[*APIError](err)
	switch {
	case isAPI && errors.Is(err, ErrNotFound) && !errors.Is(err, ErrHTML):
		return &UndecidedError{Err: notListed(err, api.Header)}
	case isAPI && !transport.IsTransient(api.StatusCode) && !errors.Is(err, ErrRateLimited), errors.Is(err, ErrInvalidArgument):
		return &UndecidedError{Err: err}
	}
	return &UndecidedError{time.Now().Add(cmp.Or(retryAfterOf(err), time.Minute)), err}
}
