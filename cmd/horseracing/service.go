package main

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// service is what the commands read: the service of the environment, or with
// -demo an embedded fake of it.
type service struct {
	*horseracing.Client
	apiKey  string
	userKey horseracing.UserKey // empty if none is known
	close   func()
}

// connect returns the service. With -v every request is logged.
func (p *program) connect(opts ...horseracing.Option) (*service, error) {
	w := &waits{p: p}
	opts = append(append(opts, w.options()...), horseracing.WithUserAgent("horseracing-cli/"+horseracing.Version))
	if p.demo {
		fake, err := horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithInMemory())
		if err != nil {
			return nil, err
		}
		return &service{fake.Client(opts...), fake.APIKey, fake.UserKey(0), fake.Close}, nil
	}
	baseURL, apiKey := os.Getenv("HORSERACING_BASE_URL"), os.Getenv("HORSERACING_API_KEY")
	if baseURL == "" || apiKey == "" {
		return nil, usageError("set HORSERACING_BASE_URL and HORSERACING_API_KEY, or try it with -demo")
	}
	client, err := horseracing.NewClient(baseURL, apiKey, opts...)
	if err != nil {
		_, problem, _ := strings.Cut(err.Error(), horseracing.ErrInvalidArgument.Error()+": ")
		return nil, usageError("HORSERACING_BASE_URL or HORSERACING_API_KEY: " + strings.TrimSuffix(problem, ", or allow it with WithPlainHTTP"))
	}
	stop := w.run()
	return &service{client, apiKey, horseracing.UserKey(os.Getenv("HORSERACING_USER_KEY")), func() { stop(); client.Close() }}, nil
}

// owner returns the key of the user whose horses these are.
func (s *service) owner() (horseracing.UserKey, error) {
	if s.userKey == "" {
		return "", usageError("set HORSERACING_USER_KEY to the key of the horses' owner")
	}
	return s.userKey, nil
}

// serviceTime returns the service's time in a response, and this computer's if
// the response does not have it.
func serviceTime(r *horseracing.Response) time.Time {
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}

// endsReading reports whether an error of a sequence that continues is one that
// stays: of the query or of the key.
func endsReading(err error) bool {
	return errors.Is(err, horseracing.ErrInvalidArgument) || errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden)
}
