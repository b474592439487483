package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
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

func numbers(from, to horseracing.HorseNumber) (all []horseracing.HorseNumber) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// failing is a fault of the response to Get of a horse.
func failing(number horseracing.HorseNumber, fault horseracingtest.Fault) horseracingtest.Fault {
	fault.Path = fmt.Sprintf("/api/v1/horses/%d", number)
	return fault
}

func TestHorsesGetManyRequestsEachNumberOnceAndAFewAtATime(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.Inject(failing(3, horseracingtest.Fault{Status: 404}), failing(5, horseracingtest.Fault{Status: 200, Body: "null"}))
		horses, err := fake.Client().Horses.GetMany(t.Context(), append(numbers(1, 20), numbers(1, 20)...))
		if err != nil || len(horses) != 18 || horses[3] != nil || horses[5] != nil {
			t.Errorf("%d horses, %v", len(horses), err)
		}
		for number, horse := range horses {
			if horse.Number != number {
				t.Errorf("%d is %d", number, horse.Number)
			}
		}
		requested := map[string]bool{}
		for _, r := range fake.Requests() {
			requested[r.Path] = true
		}
		if len(requested) != 20 || fake.RequestCount() != 20 {
			t.Errorf("requested %v", requested)
		}
		if n := fake.MaxInFlight(); n < 2 || n > 8 {
			t.Errorf("%d requests in flight at once", n)
		}
	}, horseracingtest.WithLatency(time.Second))
}

func TestHorsesGetManyReportsAHorseThatWasNotRequested(t *testing.T) {
	horses, err := responding(t, `{"number":8}`).Horses.GetMany(t.Context(), numbers(7, 9))
	d, isDecode := errors.AsType[*horseracing.DecodeError](err)
	if len(horses) != 1 || horses[8] == nil || !isDecode || d.ID != "7" || !strings.Contains(d.Error(), "it contains 8, which was not requested") || errors.Is(err, horseracing.ErrNotFound) {
		t.Errorf("%v, %v", horses, err)
	}
}

func TestHorsesGetManyOfNoneMakesNoRequest(t *testing.T) {
	s := double.Play(double.Respond(500, ""))
	if horses, err := s.Client(t).Horses.GetMany(t.Context(), nil); horses == nil || len(horses) != 0 || err != nil || len(s.Requests()) != 0 {
		t.Errorf("%v, %v after %d requests", horses, err, len(s.Requests()))
	}
}

func TestHorsesGetManyReturnsWhatWasFoundBesideAnError(t *testing.T) {
	type fault = horseracingtest.Fault
	unreadable := func(number horseracing.HorseNumber) fault {
		return failing(number, fault{Status: 200, Body: fmt.Sprintf(`{"number":%d,"level":"high"}`, number)})
	}
	decode := func(err error) bool { _, ok := errors.AsType[*horseracing.DecodeError](err); return ok }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	for name, test := range map[string]struct {
		faults      []fault
		is          func(error) bool
		least, most int // horses found, of 100
		text        string
	}{
		"one unreadable horse":     {[]fault{unreadable(3)}, decode, 99, 99, "GET /api/v1/horses/3"},
		"two unreadable horses":    {[]fault{unreadable(3), unreadable(9)}, decode, 98, 98, "2 of 100"},
		"a failure of the service": {[]fault{failing(50, fault{Status: 500})}, is(horseracing.ErrServer), 40, 60, "status 500"},
		"an outage":                {[]fault{{Status: 500, Times: -1}}, is(horseracing.ErrServer), 0, 0, "status 500"},
		"a refused key":            {[]fault{failing(50, fault{Status: 401})}, is(horseracing.ErrUnauthorized), 40, 60, "check the API key"},
		"a rate limit":             {[]fault{failing(50, fault{Status: 429})}, is(horseracing.ErrRateLimited), 40, 60, "status 429"},
		"no connection":            {[]fault{failing(50, fault{ResetBefore: true, Times: -1})}, is(io.EOF), 40, 60, "EOF"},
		"an ended goroutine":       {nil, func(error) bool { return true }, 40, 60, "goroutine was ended"},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			fake.Inject(test.faults...)
			c := fake.Client(double.NoRetries(), double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
				if test.faults == nil && strings.HasSuffix(req.URL.Path, "/50") {
					runtime.Goexit()
				}
				return next.RoundTrip(req)
			}))
			horses, err := c.Horses.GetMany(t.Context(), numbers(1, 100))
			if n := len(horses); n < test.least || n > test.most {
				t.Errorf("%d horses", n)
			}
			if !test.is(err) || !strings.Contains(fmt.Sprint(err), test.text) || errors.Is(err, context.Canceled) || len(err.Error()) > 2000 {
				t.Errorf("error %v", err)
			}
		}, horseracingtest.WithLatency(time.Millisecond))
	}
}

func TestHorsesGetManyEndsWithItsContext(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) { // fails if a goroutine outlives it
		ctx := double.Within(t, 2500*time.Millisecond)
		c, started := fake.Client(), time.Now()
		horses, err := c.Horses.GetMany(ctx, numbers(1, 100))
		if took := time.Since(started); took != 2500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if n := len(horses); n < 4 || n > 16 || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "failed") {
			t.Errorf("%d horses, %v", n, err)
		}
		if horses, err := c.Horses.GetMany(ctx, numbers(1, 5)); len(horses) != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("afterwards: %v, %v", horses, err)
		}
	}, horseracingtest.WithLatency(time.Second))
}
