package horseracing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/horseracing-go/horseracing/internal/pace"
)

const (
	manyAtOnce   = 4  // requests in flight
	manyFailures = 10 // of the service, with which GetMany ends
)

// GetMany returns the horses with these numbers, a few requests at a time. It
// requests each number once; one without a horse is missing from the map.
//
// Beside an error, the map holds what was found. A horse that cannot be read
// costs itself alone, and so do the first nine that fail with a server error. The
// tenth ends the call, and so does any other error at once: a refused key, a rate limit,
// a broken connection, the end of the context. At most 100 errors are joined.
//
// A number that is not positive is ErrInvalidArgument before any request, and so
// is [CaptureResponse], which stores a single response.
//
// GET /api/v1/horses/{horse_number}, for each number:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#41-one-horse
func (s *HorsesService) GetMany(ctx context.Context, numbers []HorseNumber, opts ...CallOption) (map[HorseNumber]*Horse, error) {
	op := horseOperation(0)
	switch {
	case ctx == nil:
		return nil, op.invalid("the context is nil")
	case configOf(opts).capture != nil:
		return nil, op.invalid("CaptureResponse stores one response, and GetMany reads many")
	case slices.ContainsFunc(numbers, func(n HorseNumber) bool { return n <= 0 }):
		return nil, op.invalid("a horse number is not positive")
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	horses, errs := make([]*Horse, len(numbers)), make([]error, len(numbers))
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, failures atomic.Int64
	var workers sync.WaitGroup
	for range min(manyAtOnce, len(numbers)) {
		workers.Go(func() {
			for reading.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(numbers) {
					return
				}
				errs[i] = fmt.Errorf("%v: %w", op, errAborted) // what stays if the caller's code ends this goroutine
				each := horseOperation(numbers[i])
				each.order = pace.Walk
				horses[i], errs[i] = getOne[Horse](reading, s.client, each, opts)
				if err := errs[i]; isServerError(err) && failures.Add(1) == manyFailures || err != nil && !costsItself(err) {
					stop(err)
				}
			}
		})
	}
	workers.Wait()

	found := make(map[HorseNumber]*Horse, len(numbers))
	var joined []error
	if err := ctx.Err(); err != nil {
		joined = append(joined, fmt.Errorf("%v: %w", op, err))
	} else if err := context.Cause(reading); err != nil {
		joined = append(joined, err)
	}
	for i, err := range errs {
		switch {
		case horses[i] != nil:
			found[numbers[i]] = horses[i]
		case err == nil, errors.Is(err, ErrNotFound):
		case len(joined) > 0 && (err == joined[0] || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)): // is said
		default:
			joined = append(joined, err)
		}
	}
	switch len(joined) {
	case 0:
		return found, nil
	case 1:
		return found, joined[0]
	}
	return found, &manyErrors{fmt.Sprintf("%d horses failed, the first: %v", len(joined), joined[0]), joined[:min(len(joined), maxJoined)]}
}

// costsItself reports whether an error concerns one horse alone.
func costsItself(err error) bool {
	_, unreadable := errors.AsType[*DecodeError](err)
	return unreadable || errors.Is(err, ErrNotFound) || isServerError(err)
}

// isServerError reports whether the service failed, and named no time to wait.
func isServerError(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode >= 500 && api.RetryAfter == 0
}

// manyErrors are errors with a short text.
type manyErrors struct {
	text string
	errs []error
}

func (m *manyErrors) Error() string   { return errorText(m.text) }
func (m *manyErrors) Unwrap() []error { return m.errs }
