// Package connection connects the programs to the service that their environment names.
package connection

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
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
	missing := slices.DeleteFunc([]string{"HORSERACING_BASE_URL", "HORSERACING_API_KEY"}, func(name string) bool { return getenv(name) != "" })
	if len(missing) > 0 {
		return nil, fmt.Errorf("set %s, or try it with --demo", strings.Join(missing, " and "))
	}
	userKey := horseracing.UserKey(getenv("HORSERACING_USER_KEY"))
	options = append(options, horseracing.WithUserKeys(userKey))
	client, err := horseracing.NewClient(baseURL, apiKey, options...)
	if err == nil && userKey != "" { // what a paste can spoil is the same for both keys
		if _, err = horseracing.NewClient(baseURL, string(userKey), options...); err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), "the API key", "HORSERACING_USER_KEY"))
		}
	}
	if err != nil {
		_, problem, _ := strings.Cut(err.Error(), horseracing.ErrInvalidArgument.Error()+": ")
		return nil, errors.New(variables.Replace(problem))
	}
	return &Service{Client: client, APIKey: apiKey, UserKey: userKey, Close: client.Close}, nil
}

// Fault names whom to blame for a call that got no response, and what to check. It returns ""
// if the service responded.
func Fault(err error) string {
	if _, isBroken := errors.AsType[*horseracing.TransportError](err); !isBroken {
		return ""
	}
	if _, isDistrusted := errors.AsType[*tls.CertificateVerificationError](err); isDistrusted {
		return "the certificate of the service is not trusted: name the file of its authority in SSL_CERT_FILE, or check HORSERACING_BASE_URL"
	}
	var proxy *url.URL
	base, err := url.Parse(os.Getenv("HORSERACING_BASE_URL"))
	if err == nil {
		proxy, err = http.ProxyFromEnvironment(&http.Request{URL: base})
	}
	if proxy != nil || err != nil {
		return "the service does not respond through the proxy: check HTTPS_PROXY and HTTP_PROXY, and HORSERACING_BASE_URL"
	}
	return "the service does not respond: check HORSERACING_BASE_URL"
}

// ServiceTime returns when the service made a response, or if the response does not say it
// the time of this computer.
func ServiceTime(r *horseracing.Response) time.Time {
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}

// RoundTripper is a function as a transport.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
