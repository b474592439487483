package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestHorseMethods(t *testing.T) {
	end := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	h := horseracing.Horse{BreedingCooldown: &end, Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Black"}, {Type: "tail_color", Value: ""}, {Type: "mane_color", Value: "White"}}}
	trait := func(name, want string, found bool) bool {
		got, ok := h.Trait(name)
		return got == want && ok == found
	}
	for name, ok := range map[string]bool{
		"the first trait of a type":            trait("mane_color", "Black", true),
		"an empty one":                         trait("tail_color", "", true),
		"a type is matched as it is":           trait("Mane_Color", "", false),
		"no type":                              trait("", "", false),
		"a rested horse can breed":             new(horseracing.Horse).CanBreedAt(end),
		"a resting one cannot":                 !h.CanBreedAt(end.Add(-time.Nanosecond)),
		"it can at the end of its cooldown on": h.CanBreedAt(end) && h.CanBreedAt(end.Add(time.Hour)),
	} {
		if !ok {
			t.Errorf("does not hold: %s", name)
		}
	}
}

func TestHorsesGetOfAMissingHorseIsErrNotFound(t *testing.T) {
	for _, body := range []string{"null", "[]", " null\n", "[ ]", "[\n]\n"} {
		c := responding(t, body)
		if _, err := c.Horses.Get(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Get after %q: %v, want ErrNotFound", body, err)
		}
		if _, err := c.Horses.Missions(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Missions after %q: %v, want ErrNotFound", body, err)
		}
	}
}

// stable is a service whose horses a test sets.
type stable struct {
	horse func(number string) double.Step
	took  time.Duration // by each response

	mu            sync.Mutex
	requested     map[string]int
	flying, flown int // requests in flight now, and at most
}

func (s *stable) RoundTrip(req *http.Request) (*http.Response, error) {
	number := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	s.mu.Lock()
	if s.requested == nil {
		s.requested = map[string]int{}
	}
	s.requested[number]++
	s.flying++
	s.flown = max(s.flown, s.flying)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.flying--; s.mu.Unlock() }()
	select {
	case <-time.After(s.took):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return s.horse(number)(req)
}

func (s *stable) client(t *testing.T) *horseracing.Client {
	return double.Connect(t, double.Service, &http.Client{Transport: s}, double.NoRetries())
}

func sound(number string) double.Step { return double.Respond(200, `{"number":`+number+`}`) }

// except is a service where some horses are not sound.
func except(odd map[string]double.Step) func(string) double.Step {
	return func(number string) double.Step {
		if step, ok := odd[number]; ok {
			return step
		}
		return sound(number)
	}
}

func numbers(from, to horseracing.HorseNumber) (all []horseracing.HorseNumber) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func TestHorsesGetManyRequestsEachNumberOnceAndAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stable{took: time.Second, horse: except(map[string]double.Step{"3": double.Respond(404, ""), "5": double.Respond(200, "null")})}
		horses, err := s.client(t).Horses.GetMany(t.Context(), append(numbers(1, 20), numbers(1, 20)...))
		if err != nil || len(horses) != 18 || horses[3] != nil || horses[5] != nil {
			t.Errorf("%d horses, %v", len(horses), err)
		}
		for number, horse := range horses {
			if horse.Number != number {
				t.Errorf("%d is %d", number, horse.Number)
			}
		}
		if len(s.requested) != 20 || slices.Max(slices.Collect(maps.Values(s.requested))) != 1 {
			t.Errorf("requested %v", s.requested)
		}
		if s.flown < 2 || s.flown > 8 {
			t.Errorf("%d requests in flight at once", s.flown)
		}
	})
}

func TestHorsesGetManyReportsAHorseThatWasNotRequested(t *testing.T) {
	horses, err := responding(t, `{"number":8}`).Horses.GetMany(t.Context(), numbers(7, 9))
	d, isDecode := errors.AsType[*horseracing.DecodeError](err)
	if len(horses) != 1 || horses[8] == nil || !isDecode || d.ID != "7" || !strings.Contains(d.Error(), "it contains 8, which was not requested") || errors.Is(err, horseracing.ErrNotFound) {
		t.Errorf("%v, %v", horses, err)
	}
}

func TestHorsesGetManyOfNoneMakesNoRequest(t *testing.T) {
	s := &stable{horse: sound}
	horses, err := s.client(t).Horses.GetMany(t.Context(), nil)
	if horses == nil || len(horses) != 0 || err != nil || len(s.requested) != 0 {
		t.Errorf("%v, %v, %v", horses, err, s.requested)
	}
}

func TestHorsesGetManyReturnsWhatWasFoundBesideAnError(t *testing.T) {
	var (
		unreadable = double.Respond(200, `{"number":3,"level":"high"}`)
		failing    = map[string]double.Step{}
	)
	for n := range 30 {
		failing[fmt.Sprint(n+1)] = double.Respond(500, "")
	}
	ends := func(*http.Request) (*http.Response, error) {
		runtime.Goexit()
		return nil, nil
	}
	decode := func(err error) bool { _, ok := errors.AsType[*horseracing.DecodeError](err); return ok }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	for name, test := range map[string]struct {
		odd         map[string]double.Step
		is          func(error) bool
		least, most int // horses found, of 100
		text        string
	}{
		"one unreadable horse":     {map[string]double.Step{"3": unreadable}, decode, 99, 99, "GET /api/v1/horses/3"},
		"two unreadable horses":    {map[string]double.Step{"3": unreadable, "9": unreadable}, decode, 98, 98, "2 of 100"},
		"a failure of the service": {map[string]double.Step{"3": double.Respond(500, "")}, is(horseracing.ErrServer), 2, 20, "status 500"},
		"an outage":                {failing, is(horseracing.ErrServer), 0, 0, "status 500"},
		"a refused key":            {map[string]double.Step{"50": double.Respond(401, "")}, is(horseracing.ErrUnauthorized), 40, 60, "check the API key"},
		"a rate limit":             {map[string]double.Step{"50": double.Respond(429, "")}, is(horseracing.ErrRateLimited), 40, 60, "status 429"},
		"no connection":            {map[string]double.Step{"50": double.Broken(double.ErrReset)}, is(double.ErrReset), 40, 60, "reset"},
		"an ended goroutine":       {map[string]double.Step{"50": ends}, func(error) bool { return true }, 40, 60, "goroutine was ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stable{took: time.Millisecond, horse: except(test.odd)}
				horses, err := s.client(t).Horses.GetMany(t.Context(), numbers(1, 100))
				if n := len(horses); n < test.least || n > test.most {
					t.Errorf("%d horses", n)
				}
				if !test.is(err) || !strings.Contains(fmt.Sprint(err), test.text) || errors.Is(err, context.Canceled) || len(err.Error()) > 2000 {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestHorsesGetManyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine outlives it
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		s := &stable{took: time.Second, horse: sound}
		started := time.Now()
		horses, err := s.client(t).Horses.GetMany(ctx, numbers(1, 100))
		if took := time.Since(started); took != 2500*time.Millisecond || s.flying != 0 {
			t.Errorf("took %v, %d in flight", took, s.flying)
		}
		if n := len(horses); n < 4 || n > 16 || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "failed") {
			t.Errorf("%d horses, %v", n, err)
		}
		cancel()
		if horses, err := s.client(t).Horses.GetMany(ctx, numbers(1, 5)); len(horses) != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("afterwards: %v, %v", horses, err)
		}
	})
}
