// Package connection connects the programs to the service that their environment names.
package connection

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Service is the service of the environment, or an embedded fake of it.
type Service struct {
	*horseracing.Client
	APIKey  string
	UserKey horseracing.UserKey // of the horses' owner, empty if it is not known
	Close   func()
}

// variables names what is wrong as the environment does.
var variables = strings.NewReplacer("the base URL", "HORSERACING_BASE_URL", "the API key", "HORSERACING_API_KEY", "http:// to", "HORSERACING_BASE_URL: http:// to",
	", or allow it with WithPlainHTTP", "")

// Open returns the service that HORSERACING_BASE_URL, HORSERACING_API_KEY and
// HORSERACING_USER_KEY name, or for a demo a fake. Its error names what to set.
func Open(demo bool, getenv func(string) string, options ...horseracing.Option) (*Service, error) {
	if demo {
		fake, err := horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithInMemory())
		if err != nil {
			return nil, err
		}
		return &Service{Client: fake.Client(options...), APIKey: fake.APIKey, UserKey: fake.UserKey(0), Close: fake.Close}, nil
	}
	baseURL, apiKey := getenv("HORSERACING_BASE_URL"), getenv("HORSERACING_API_KEY")
	if baseURL == "" || apiKey == "" {
		return nil, errors.New("set HORSERACING_BASE_URL and HORSERACING_API_KEY, or try it with --demo")
	}
	userKey := horseracing.UserKey(getenv("HORSERACING_USER_KEY"))
	client, err := horseracing.NewClient(baseURL, apiKey, append(options, horseracing.WithUserKeys(userKey))...)
	if err != nil {
		_, problem, _ := strings.Cut(err.Error(), horseracing.ErrInvalidArgument.Error()+": ")
		return nil, errors.New(variables.Replace(problem))
	}
	return &Service{Client: client, APIKey: apiKey, UserKey: userKey, Close: client.Close}, nil
}

// ServiceTime returns when the service made a response, or if the response does not say it
// the time of this computer.
func ServiceTime(r *horseracing.Response) time.Time {
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}
