package horseracing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

const (
	settleFirst   = time.Second // before the second reading; twice as long each time, up to
	settleSlowest = time.Minute
	settleMargin  = time.Minute // after the deadline, in which a request on its way arrives or is refused
	settleRefusal = time.Hour   // no longer is a Retry-After heeded
	settleGarbled = 5           // readings in a row that do not say who is in the race
)

// Settle reports whether a registration that ended in [ErrOutcomeUnknown] has
// taken effect. It reads the race, at growing intervals of up to a minute, until
// one of these is the case:
//
//   - The horse is in the race: true.
//   - A reading made more than a minute after the race's registration deadline
//     shows the race without the horse: false. That is as certain as the deadline
//     is one. The time of a reading is the response's Date header, or without one
//     this computer's clock when the request was made.
//   - The context ends, the race is gone, the key is refused, or several responses
//     in a row do not say who is in the race: an error.
//
// Every error is also ErrOutcomeUnknown: only false means that the horse can be
// registered again. A race whose deadline is far away takes as long, so give the
// context a deadline of its own. [CaptureResponse] stores the last response.
//
// GET /api/v1/races/{raceId}:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#48-one-race
func (s *RacesService) Settle(ctx context.Context, race RaceID, horse HorseNumber, opts ...CallOption) (bool, error) {
	if ctx == nil {
		return false, unsettled(raceOperation(race).invalid("the context is nil"))
	}
	var response Response
	opts, publish := capturing(opts, &response)
	defer publish()
	garbled := 0
	for interval := settleFirst; ; interval = min(2*interval, settleSlowest) {
		now := time.Now()
		r, err := s.entrants(ctx, race, horse, opts)
		if err == nil && r.Has(horse) {
			return true, nil
		}
		wait := interval + rand.N(interval/4) // clients that lost the same connection come back apart
		switch {
		case err == nil:
			garbled = 0
			if date, bad := http.ParseTime(response.Header.Get("Date")); bad == nil {
				now = date
			}
			certain := r.RegistrationDeadline.Add(settleMargin)
			switch {
			case r.RegistrationDeadline.IsZero():
			case now.After(certain):
				return false, nil
			default:
				wait = min(wait, certain.Sub(now)+time.Second)
			}
		case isGarbled(err):
			garbled++
		}
		if err != nil && (garbled == settleGarbled || !maySettleLater(err)) {
			return false, unsettled(err)
		}
		if refusal, ok := errors.AsType[*APIError](err); ok {
			wait = max(wait, min(refusal.RetryAfter, settleRefusal))
		}
		if ended := sleep(ctx, wait); ended != nil {
			switch {
			case err == nil:
				err = fmt.Errorf("%v: %w; the horse is not in the race so far", raceOperation(race), ended)
			case !errors.Is(err, ended):
				err = fmt.Errorf("%w; %w", err, ended)
			}
			return false, unsettled(err)
		}
	}
}

// unsettled is the error of a Settle.
func unsettled(err error) error {
	hint := "call Races.Settle again before registering again"
	if errors.Is(err, ErrNotFound) {
		hint = "the race is gone: look for it in Races.Results"
	}
	return &outcomeUnknown{err, hint}
}

// isGarbled reports whether a response came that does not say who is in the race.
func isGarbled(err error) bool {
	_, undecodable := errors.AsType[*DecodeError](err)
	api, refused := errors.AsType[*APIError](err)
	return undecodable || refused && api.StatusCode < 300
}

// maySettleLater reports whether reading again can help.
func maySettleLater(err error) bool {
	for _, final := range []error{ErrInvalidArgument, ErrNotFound, ErrRedirect, ErrResponseTooLarge} {
		if errors.Is(err, final) {
			return false
		}
	}
	if _, limited := errors.AsType[*pace.LimiterError](err); limited {
		return false
	}
	api, ok := errors.AsType[*APIError](err)
	return !ok || api.StatusCode < 300 || isTransient(api.StatusCode) || api.StatusCode >= 500
}

// capturing returns the options with the response stored in r, and a function
// that stores it where the caller wants it.
func capturing(opts []CallOption, r *Response) (all []CallOption, publish func()) {
	config := configOf(opts)
	return append(slices.Clone(opts), CaptureResponse(r)), func() {
		if config.capture != nil {
			*config.capture = *r
		}
	}
}

// sleep waits, and returns the context's error as soon as that ends.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
