// Package control lets programs in any language use the fake as Go tests do, over
// HTTP with JSON. docs/fake.md describes it for its users.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// control is the handler of a fake's control port.
type control struct {
	fake   *horseracingtest.Server
	faults []horseracingtest.Fault // in force from the start

	mu    sync.Mutex // one change of the clock at a time
	clock *Clock
	begin time.Time
}

// New returns a handler that controls fake, whose clock must be clock. It injects
// the faults, and again whenever the fake is reset.
func New(fake *horseracingtest.Server, clock *Clock, faults ...horseracingtest.Fault) http.Handler {
	c := &control{fake: fake, clock: clock, begin: fake.Now(), faults: faults}
	fake.Inject(faults...)
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]operation{
		"/{$}":                 {"GET": c.info},
		"/reset":               {"POST": c.reset},
		"/clock":               {"POST": c.setClock},
		"/advance":             {"POST": c.advance},
		"/races":               {"POST": list("races", fake.AddRaces)},
		"/races/{id}":          {"DELETE": c.removeRace},
		"/tournaments":         {"POST": list("tournaments", fake.AddTournaments)},
		"/horses":              {"POST": c.addHorses},
		"/users/{user}/horses": {"POST": c.addHorses},
		"/breeding":            {"POST": list("breeding listings", fake.SetBreeding)},
		"/missions":            {"POST": list("horses with their missions", fake.SetHorseMissions)},
		"/catalogue":           {"POST": c.setCatalogue},
		"/faults":              {"POST": list("faults", fake.Inject), "DELETE": act(fake.ClearFaults)},
		"/limits":              {"POST": list(`limits such as "50/s"`, fake.SetRequestLimit)},
		"/requests":            {"GET": c.requests, "DELETE": act(fake.ResetLog)},
		"/registrations":       {"GET": c.registrations},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, methods) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusNotFound, fail("there is no %s; docs/fake.md lists what there is", r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkOrigin(r); err != nil {
			respond(w, http.StatusForbidden, fail("%v", err))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// checkOrigin refuses the requests of web pages, which send an Origin, or use a name of
// their own for this machine.
func checkOrigin(r *http.Request) error {
	host := (&url.URL{Host: r.Host}).Hostname()
	site := r.Header.Get("Sec-Fetch-Site") // a page's GET has no Origin
	if r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin" {
		return errors.New("requests of web pages (header Origin or Sec-Fetch-Site) are refused")
	}
	if host != "localhost" && net.ParseIP(host) == nil {
		return fmt.Errorf("the Host must be localhost or an address, not %q", host)
	}
	return nil
}

// serve calls the operation of the request's method.
func serve(w http.ResponseWriter, r *http.Request, methods map[string]operation) {
	call, ok := methods[r.Method]
	if !ok {
		allowed := slices.Sorted(maps.Keys(methods))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		respond(w, http.StatusMethodNotAllowed, fail("%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " and "), r.Method))
		return
	}
	value, err := call(r)
	if err != nil {
		respond(w, http.StatusBadRequest, fail("%v", err))
		return
	}
	respond(w, http.StatusOK, value)
}

// fail is the body of an error.
func fail(format string, args ...any) object { return object{"error": fmt.Sprintf(format, args...)} }

func respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a client that is gone needs no response
}
