// Package connection connects the programs to the service that their environment names, or a profile.
package connection

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/profile"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Service is the service of the environment or of a profile, or an embedded fake of it.
type Service struct {
	*horseracing.Client
	APIKey  string
	UserKey horseracing.UserKey // of the horses' owner, empty if it is not known
	From    Sources
	Close   func()
}

// Sources name the settings by where they come from: HORSERACING_API_KEY, or the API key of
// profile default.
type Sources struct{ BaseURL, APIKey, UserKey string }

// Variables are the sources of settings in the environment.
var Variables = Sources{"HORSERACING_BASE_URL", "HORSERACING_API_KEY", "HORSERACING_USER_KEY"}

// find returns the settings: those of the environment, and what it lacks of a profile, by
// default that of HORSERACING_PROFILE. The keys of a profile are for its base URL alone.
func find(name string, getenv func(string) string) (profile.Profile, Sources, error) {
	set, from := profile.Profile{BaseURL: getenv(Variables.BaseURL), APIKey: getenv(Variables.APIKey), UserKey: getenv(Variables.UserKey)}, Variables
	name = cmp.Or(name, getenv("HORSERACING_PROFILE"))
	if name == "" && set.BaseURL != "" && set.APIKey != "" && set.UserKey != "" {
		return set, from, nil
	}
	all, err := profile.Load()
	if err != nil {
		return set, from, err
	}
	saved, isSaved := all[cmp.Or(name, profile.Default)]
	switch {
	case !isSaved && name != "":
		return set, from, fmt.Errorf("there is no profile %q, but there are: %s; horseracing login --profile %[1]s saves it", name, strings.Join(all.Names(), ", "))
	case !isSaved:
		return set, from, nil
	}
	name = cmp.Or(name, profile.Default)
	fill := func(setting, source *string, saved, what string) {
		if *setting == "" && saved != "" {
			*setting, *source = saved, what+" of profile "+name
		}
	}
	fill(&set.BaseURL, &from.BaseURL, saved.BaseURL, "the base URL")
	if strings.TrimRight(set.BaseURL, "/") != strings.TrimRight(saved.BaseURL, "/") {
		if set.APIKey == "" {
			err = fmt.Errorf("set %s, too: the keys of profile %s are for %s, and not for %s", Variables.APIKey, name, saved.BaseURL, Variables.BaseURL)
		}
		return set, from, err
	}
	fill(&set.APIKey, &from.APIKey, saved.APIKey, "the API key")
	fill(&set.UserKey, &from.UserKey, saved.UserKey, "the user key")
	return set, from, nil
}

// Open returns the service that HORSERACING_BASE_URL, HORSERACING_API_KEY and
// HORSERACING_USER_KEY name, or a profile, or for a demo a fake. Its error names what to set.
func Open(demo bool, name string, getenv func(string) string, options ...horseracing.Option) (*Service, error) {
	if demo {
		fake, err := horseracingtest.Start(horseracingtest.WithClock(time.Now), horseracingtest.WithInMemory())
		if err != nil {
			return nil, err
		}
		return &Service{Client: fake.Client(options...), APIKey: fake.APIKey, UserKey: fake.UserKey(0), From: Variables, Close: fake.Close}, nil
	}
	set, from, err := find(name, getenv)
	if err != nil {
		return nil, err
	}
	missing := []string{}
	if set.BaseURL == "" {
		missing = append(missing, Variables.BaseURL)
	}
	if set.APIKey == "" {
		missing = append(missing, Variables.APIKey)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("set %s, run horseracing login, or try it with --demo", strings.Join(missing, " and "))
	}
	return Connect(set, from, options...)
}

// Connect returns the service of these settings. Its error names what is wrong by its source.
func Connect(set profile.Profile, from Sources, options ...horseracing.Option) (*Service, error) {
	userKey := horseracing.UserKey(set.UserKey)
	options = append(options, horseracing.WithUserKeys(userKey))
	client, err := horseracing.NewClient(set.BaseURL, set.APIKey, options...)
	keySource := from.APIKey
	if err == nil && userKey != "" { // what a paste can spoil is the same for both keys
		_, err = horseracing.NewClient(set.BaseURL, set.UserKey, options...)
		keySource = from.UserKey
	}
	if err != nil {
		_, problem, _ := strings.Cut(err.Error(), horseracing.ErrInvalidArgument.Error()+": ")
		return nil, errors.New(strings.NewReplacer("the base URL", from.BaseURL, "the API key", keySource,
			"http:// to", from.BaseURL+": http:// to", ", or allow it with WithPlainHTTP", "").Replace(problem))
	}
	return &Service{Client: client, APIKey: set.APIKey, UserKey: userKey, From: from, Close: client.Close}, nil
}

// Fault names whom to blame for a call that got no response, and what to check. It returns ""
// if the service responded.
func (s *Service) Fault(err error) string {
	if _, isBroken := errors.AsType[*horseracing.TransportError](err); s == nil || !isBroken {
		return ""
	}
	if _, isDistrusted := errors.AsType[*tls.CertificateVerificationError](err); isDistrusted {
		return "the certificate of the service is not trusted: name the file of its authority in SSL_CERT_FILE, or check " + s.From.BaseURL
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the responses of the service are cut short: check what is between this computer and " + s.From.BaseURL
	}
	var proxy *url.URL
	base, err := url.Parse(s.BaseURL())
	if err == nil {
		proxy, err = http.ProxyFromEnvironment(&http.Request{URL: base})
	}
	if proxy != nil || err != nil {
		return "the service does not respond through the proxy: check HTTPS_PROXY and HTTP_PROXY, and " + s.From.BaseURL
	}
	return "the service does not respond: check " + s.From.BaseURL
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
