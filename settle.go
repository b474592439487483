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
	settleMargin     = time.Minute     // after the closing, for a request that is still in flight
	settleListed     = time.Hour       // for so long after the closing, a list may lack some horses
	settleEnd        = 2 * time.Hour   // for so long after the closing, a race is read
	settleLong       = 5 * time.Second // a wait after a reading that failed, which is logged
	settleUnreadable = 5               // unreadable responses, without a readable one between them
)

// Settle reports whether a registration that ended in [ErrOutcomeUnknown] has taken
// effect. It reads the race, at growing intervals of up to about a minute, or after a
// Retry-After of up to an hour, and returns true as soon as the race lists the horse. It
// returns false if a response lists other horses but not this one, and was made at least an
// hour after the registration deadline and the start, or a minute if the final order names
// everyone. This assumes that the service enforces the deadline.
//
// A list that is empty proves nothing, since the service may show participants at another
// time. If it is empty two hours after the deadline and the start have passed, or the race is
// gone, Settle returns an error: the fee may be paid, and only the game shows it.
//
// Settle may block until that time, and longer if the race cannot be read: [WithLogger] logs
// until when, and only ctx limits it. If the deadline or the start is before the year
// 2000, or the deadline more than a day after the start, Settle never returns false.
//
// Register the horse again only after false with a nil error. Every error matches
// ErrOutcomeUnknown: ctx is done, the race is gone or lists nobody, the key is refused, or
// five responses are unreadable, without a readable one between them.
//
// Times are the service's: the Date header of a response, minus its Age. A Date that is up to
// a day ahead of the local clock is moved back towards it, by at most an hour. A Date that is
// further ahead is used as it is.
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
	var until, end time.Time // the end is that of the local clock, in case Date does not advance
	unreadable := 0
	for interval := settleFirst; ; interval = min(2*interval, settleSlowest) {
		found, err := s.readRace(ctx, op, race, horse, opts)
		wait := interval + rand.N(interval/4) // so that clients that lost the same connection do not retry together
		switch {
		case found.isIn:
			return true, nil
		case err == nil && found.isOut:
			return false, nil
		case err == nil && (found.now.After(found.until) || found.until.Equal(until) && time.Now().After(end)):
			return false, unsettled(s.secrets.Error(fmt.Errorf("%s: %w; horse %d may be in it", name, errShowsNothing, horse)))
		case err == nil:
			unreadable = 0
			if !found.until.Equal(until) {
				until, end = found.until, time.Now().Add(found.until.Sub(found.now))
				s.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: reading the race until the outcome of a registration is certain",
					slog.String("operation", name), slog.Time("until", until))
			}
		case isUndecodable(err) && unreadable < settleUnreadable-1:
			unreadable++
		case !maySettleLater(err):
			return false, unsettled(err)
		}
		if wait = max(wait, retryAfterOf(err)); err != nil && wait >= settleLong {
			s.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting until the race can be read",
				slog.String("operation", name), slog.Duration("wait", wait), slog.String("error", err.Error()))
		}
		if ended := transport.Sleep(ctx, wait); ended != nil {
			switch {
			case err == nil:
				err = s.secrets.Error(fmt.Errorf("%s: %w; horse %d is not in the race so far, which is read until %s", name, ended, horse, found.until.UTC().Format(time.RFC3339)))
			case !errors.Is(err, ended):
				err = fmt.Errorf("%w; %w", err, ended)
			}
			return false, unsettled(err)
		}
	}
}

// raceReading is the evidence in one response of whether a horse is in a race.
type raceReading struct {
	isIn, isOut bool      // the evidence is final
	now         time.Time // when the service made the response
	until       time.Time // when another response shows no more than this one
}

// readRace reads a race once.
func (s *RacesService) readRace(ctx context.Context, op operation, race RaceID, horse HorseNumber, opts []CallOption) (raceReading, error) {
	requested := time.Now()
	l, err := getEntries[Race](ctx, s.backend, op, opts)
	if err != nil {
		return raceReading{}, err
	}
	record := l.record
	found := raceReading{isOut: true, now: settleClock(responseTime(record.Header, requested), requested)}
	var problem *DecodeError
	wrong := func(i int, member, what string) *DecodeError {
		return newDecodeError(record, &readError{field: fmt.Sprintf("/%d/%s", i, member), err: errors.New(what)})
	}
	for i := range l.entries {
		e := &l.entries[i]
		r := &e.value
		isRequested := r.MainRaceID == race || r.MainRaceID == 0 && len(l.entries) == 1
		closed, isPlausible := closing(r)
		switch {
		case isRequested && r.Has(horse):
			return raceReading{isIn: true}, nil
		case r.MainRaceID != race && r.MainRaceID != 0: // another race's participants prove nothing
		case e.err != nil: // an entry that was read in part can show the horse, but not its absence
			problem = e.err.ofResponse(record.ID, e.err.Raw, e.err.Err)
		case r.MainRaceID == 0:
			problem = wrong(i, "main_race_id", "absent or zero: it may be another race")
		case r.Has(0):
			problem = wrong(i, "participants", "without the numbers of horses")
		case closed.Year() < 2000:
			problem = wrong(i, "registration_deadline", "absent or before the year 2000")
		default:
			found.isOut = found.isOut && isPlausible && listsAll(r, found.now.Sub(closed))
			if until := closed.Add(settleEnd); until.After(found.until) {
				found.until = until
			}
		}
	}
	if problem == nil && found.until.IsZero() {
		problem = newDecodeError(record, &readError{err: errors.New("the response does not contain the race that was requested")})
	}
	if problem != nil {
		return raceReading{}, problem
	}
	return found, nil
}

// closing returns when the deadline and the start of a race have passed, and whether both
// are plausible. A start may be absent.
func closing(r *Race) (closed time.Time, isPlausible bool) {
	deadline, start := r.RegistrationDeadline.Time, r.StartTime.Time
	switch {
	case r.StartTime.IsZero():
		return deadline, true
	case start.Year() < 2000:
		return deadline, false
	case deadline.Year() < 2000, deadline.After(start.Add(24 * time.Hour)):
		return start, false
	case deadline.After(start):
		return deadline, true
	}
	return start, true
}

// listsAll reports whether the participants are all there are, a time after the closing. A
// list may show some of them first, or nobody.
func listsAll(r *Race, after time.Duration) bool {
	finishers, err := r.Finishers()
	isComplete := err == nil && len(finishers) == len(r.Participants)
	return len(r.Participants) > 0 && (after > settleListed || isComplete && after > settleMargin)
}

// settleClock returns the time of a response for Settle. A front server may send a Date
// that is an hour ahead; a service with a virtual clock is further ahead.
func settleClock(made, local time.Time) time.Time {
	if ahead := made.Sub(local); 0 < ahead && ahead <= 24*time.Hour {
		return made.Add(-min(ahead, time.Hour))
	}
	return made
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

// errShowsNothing is the reason for an error of Settle.
var errShowsNothing = errors.New("the race lists nobody, or its times are not plausible, two hours after the deadline and the start")

// unsettled is the error of a Settle.
func unsettled(err error) error {
	hint := "call Races.Settle again before registering again"
	switch {
	case errors.Is(err, ErrNotFound):
		hint = "the race is gone; look for it in Races.Results"
	case errors.Is(err, errShowsNothing):
		hint = "look for the horse in the game before registering again"
	}
	return &outcomeUnknown{err: err, hint: hint}
}

// isUndecodable reports whether err is that of a response that cannot be read.
func isUndecodable(err error) bool {
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
