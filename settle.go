package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

const (
	settleFirst      = time.Second     // interval before the second reading; doubled after each
	settleSlowest    = time.Minute     // longest interval
	settleMargin     = time.Minute     // after the deadline, for a request that is still in flight
	settleLong       = 5 * time.Second // a wait after a reading that failed, which is logged
	settleUnreadable = 5               // readings in a row that do not list the participants
)

// never is when the outcome of a race without a plausible deadline is certain.
var never = time.UnixMilli(maxMilliseconds)

// Settle reports whether a registration that ended in [ErrOutcomeUnknown] has taken
// effect. It reads the race, at growing intervals of up to a minute, and returns true as
// soon as the race lists the horse, or false once a response from more than a minute
// after the registration deadline does not list it. This assumes that the service
// enforces the deadline.
//
// Settle may block until then, and longer if the race cannot be read: [WithLogger] logs
// until when, and only ctx limits it. If the deadline is before the year 2000, or more
// than a day after the start of the race, it is ignored, and Settle never returns false.
//
// Register the horse again only after false with a nil error. Every error matches
// ErrOutcomeUnknown: ctx is done, the race is gone, the key is refused, or several
// responses in a row lack the list of participants.
//
// Times are the service's: the Date header of a response, minus its Age.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Settle(ctx context.Context, race RaceID, horse HorseNumber, opts ...CallOption) (bool, error) {
	op := raceOperation(race)
	op.noCache, op.emptyIsNotFound = true, true
	if problem := horse.problem(); problem != nil {
		return false, unsettled(s.secrets.Error(op.invalid(problem)))
	}
	name := operationText(op.method, op.route, s.secrets.Text(op.idText()))
	logged, unreadable := never, 0
	for interval := settleFirst; ; interval = min(2*interval, settleSlowest) {
		in, certain, now, err := s.entrants(ctx, op, race, horse, opts)
		wait := interval + rand.N(interval/4) // so that clients that lost the same connection do not retry together
		switch {
		case in:
			return true, nil
		case err == nil && now.After(certain):
			return false, nil
		case err == nil:
			unreadable = 0
			wait = min(wait, certain.Add(time.Second).Sub(now))
			if !certain.Equal(logged) {
				logged = certain
				s.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: reading the race until the outcome of a registration is certain",
					slog.String("operation", name), slog.Time("until", certain))
			}
		case listsNoParticipants(err) && unreadable < settleUnreadable-1:
			unreadable++
		case !maySettleLater(err):
			return false, unsettled(err)
		}
		if wait = max(wait, refusal(err)); err != nil && wait >= settleLong {
			s.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting until the race can be read",
				slog.String("operation", name), slog.Duration("wait", wait), slog.String("error", err.Error()))
		}
		if ended := transport.Sleep(ctx, wait); ended != nil {
			switch {
			case err == nil:
				err = s.secrets.Error(fmt.Errorf("%s: %w; horse %d is not in the race so far%s", name, ended, horse, finalText(certain)))
			case !errors.Is(err, ended):
				err = fmt.Errorf("%w; %w", err, ended)
			}
			return false, unsettled(err)
		}
	}
}

// entrants reads a race once and reports whether the horse is in it. If not, certain is
// the time from which on this is final, and now is the time at which the service made
// the response.
func (s *RacesService) entrants(ctx context.Context, op operation, race RaceID, horse HorseNumber, opts []CallOption) (in bool, certain, now time.Time, err error) {
	requested := time.Now()
	l, err := getEntries[Race](ctx, s.backend, op, opts)
	if err != nil {
		return false, certain, now, err
	}
	record := l.record
	var problem *DecodeError
	wrong := func(i int, member, what string) *DecodeError {
		return newDecodeError(record, &readError{field: fmt.Sprintf("/%d/%s", i, member), err: errors.New(what)})
	}
	for i := range l.entries {
		e := &l.entries[i]
		r := &e.value
		isRequested := r.MainRaceID == race || r.MainRaceID == 0 && len(l.entries) == 1
		switch {
		case isRequested && r.Has(horse):
			return true, certain, now, nil
		case r.MainRaceID != race && r.MainRaceID != 0: // another race's participants prove nothing
		case e.err != nil: // an entry that was read in part can show the horse, but not its absence
			problem = e.err.ofResponse(record.ID, e.err.Raw, e.err.Err)
		case r.MainRaceID == 0:
			problem = wrong(i, "main_race_id", "absent or zero: it may be another race")
		case r.Participants == nil || r.Has(0):
			problem = wrong(i, "participants", "absent, null, or without the numbers of horses")
		case certain.Before(certainAfter(r)):
			certain = certainAfter(r)
		}
	}
	if problem == nil && certain.IsZero() {
		problem = newDecodeError(record, &readError{err: errors.New("the response does not contain the race that was requested")})
	}
	if problem != nil {
		err = problem
	}
	return false, certain, responseTime(record.Header, requested), err
}

// certainAfter returns from when on the participants of a race are final.
func certainAfter(r *Race) time.Time {
	deadline := r.RegistrationDeadline.Time
	if deadline.Year() < 2000 || !r.StartTime.IsZero() && deadline.After(r.StartTime.Add(24*time.Hour)) {
		return never
	}
	return deadline.Add(settleMargin)
}

// finalText says from when on the participants of a race are final, if that is known.
func finalText(certain time.Time) string {
	if certain.Equal(never) {
		return ""
	}
	return ", which is final from " + certain.UTC().Format(time.RFC3339) + " on"
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

// unsettled is the error of a Settle.
func unsettled(err error) error {
	hint := "call Races.Settle again before registering again"
	if errors.Is(err, ErrNotFound) {
		hint = "the race is gone; look for it in Races.Results"
	}
	return &outcomeUnknown{err, hint}
}

// listsNoParticipants reports whether err is that of a response that does not list the
// participants of a race.
func listsNoParticipants(err error) bool {
	_, undecodable := errors.AsType[*DecodeError](err)
	api, ok := errors.AsType[*APIError](err)
	return undecodable || ok && api.StatusCode < 300 && !api.absent
}

// maySettleLater reports whether reading again can help: after a failure of the service
// or of the connection.
func maySettleLater(err error) bool {
	if api, ok := errors.AsType[*APIError](err); ok {
		return api.StatusCode >= 500 || transport.IsTransient(api.StatusCode)
	}
	_, failed := errors.AsType[*TransportError](err)
	_, limited := errors.AsType[*pace.LimiterError](err)
	return failed && !limited && !errors.Is(err, ErrResponseTooLarge)
}
