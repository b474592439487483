package sending_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestWaitingEndsWithTheContext(t *testing.T) {
	for name, down := range map[string]double.Step{"a status": double.Respond(503, "", "Retry-After: 3600"), "a reset": double.Broken(double.ErrReset)} {
		for want, end := range ends {
			t.Run(fmt.Sprint(want, " after ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					policy := horseracing.Retry{Max: 1000, MinWait: 2 * time.Hour, MaxWait: 1000 * time.Hour}
					ctx, cancel := end(t.Context(), time.Minute)
					defer cancel()
					started := time.Now()
					_, err := double.Play(down).Client(t, horseracing.WithRetry(policy)).Races.Open(ctx)
					if took := time.Since(started); took != time.Minute || !errors.Is(err, want) {
						t.Errorf("%v after %v", err, took)
					}
					if text := err.Error(); !strings.Contains(text, want.Error()+" after") {
						t.Errorf("the text does not name the last failure: %s", text)
					}
				})
			})
		}
	}
}

// ends are the ways in which a context ends after some time.
var ends = map[error]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
	context.DeadlineExceeded: context.WithTimeout,
	context.Canceled: func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(after, cancel)
		return ctx, cancel
	},
}

func TestTheContextEndsAReadWhereverItIs(t *testing.T) {
	for name, hang := range map[string]double.Step{
		"before the response": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
		"before the response, another cause": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, double.ErrReset
		},
		"within the body":                 hangingBody(200),
		"within the body of a failure":    hangingBody(503),
		"within the body of a rate limit": hangingBody(429),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for want, end := range ends {
					ctx, cancel := end(t.Context(), time.Second)
					defer cancel()
					s := double.Play(hang)
					started := time.Now()
					_, err := s.Client(t).Races.Open(ctx)
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
					if took := time.Since(started); took != time.Second || len(s.Requests()) != 1 {
						t.Errorf("%d requests in %v", len(s.Requests()), took)
					}
				}
			})
		})
	}
}

// A refusal for good is returned, whenever the context ended.
func TestTheContextHidesNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := double.Play(hangingBody(404)).Client(t).Races.Open(ctx); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

// hangingBody responds with a body that does not come.
func hangingBody(status int) double.Step {
	return func(req *http.Request) (*http.Response, error) {
		return double.Stream(status, -1, func() io.Reader {
			return readerFunc(func([]byte) (int, error) {
				<-req.Context().Done()
				return 0, double.ErrReset
			})
		})(req)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAnEndedContextSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := double.Play(double.Respond(200, "[]"))
	c := s.Client(t)
	if _, err := c.Races.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if _, err := c.Races.Register(ctx, double.Entry); !errors.Is(err, context.Canceled) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
		t.Errorf("Register: %v", err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// An attempt ends after its time wherever it hangs: before the response, or in a
// body that drips.
func TestTheAttemptTimeoutCoversTheBody(t *testing.T) {
	for name, fault := range map[string]horseracingtest.Fault{
		"no response":       {Times: -1, Delay: time.Hour},
		"a body that drips": {Times: -1, Drip: time.Second},
		"a 500 that drips":  {Times: -1, Drip: time.Second, Status: 500, Body: strings.Repeat("x", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
				defer server.Close()
				server.Inject(fault)
				c := server.Client(horseracing.WithAttemptTimeout(10*time.Second),
					horseracing.WithRetry(horseracing.Retry{Max: 2, MinWait: 1, MaxWait: 1}))
				started := time.Now()
				_, err := c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1)
				if took := time.Since(started).Round(time.Second); took != 30*time.Second {
					t.Errorf("three attempts of 10 s took %v", took)
				}
				if fault.Status == 0 && !errors.Is(err, context.DeadlineExceeded) || fault.Status == 500 && !errors.Is(err, horseracing.ErrServer) {
					t.Errorf("got %v", err)
				}
				if n := server.RequestCount(); n != 3 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

func TestTheCallersTimeoutBoundsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		c := double.Connect(t, double.Service, &http.Client{Transport: s, Timeout: 5 * time.Second},
			horseracing.WithRetry(horseracing.Retry{Max: 2, MinWait: 1, MaxWait: 1}))
		started := time.Now()
		_, err := c.Races.Open(t.Context())
		if took := time.Since(started).Round(time.Second); took != 15*time.Second || len(s.Requests()) != 3 {
			t.Errorf("%d attempts of 5 s took %v", len(s.Requests()), took)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
