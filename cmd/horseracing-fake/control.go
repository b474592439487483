package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// control lets programs in any language use the fake as Go tests do: plain
// HTTP with JSON, described in docs/fake.md.
type control struct {
	*http.Server
	url  string
	fake *horseracingtest.Server
}

// startControl listens at a loopback address.
func startControl(addr string, fake *horseracingtest.Server) (*control, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &control{url: "http://" + listener.Addr().String(), fake: fake}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.handle(c.info))
	mux.HandleFunc("POST /advance", c.handle(c.advance))
	mux.HandleFunc("POST /faults", c.handle(c.inject))
	mux.HandleFunc("DELETE /faults", c.handle(c.clearFaults))
	mux.HandleFunc("POST /limits", c.handle(c.setLimits))
	mux.HandleFunc("POST /races", c.handle(c.addRaces))
	mux.HandleFunc("DELETE /races/{id}", c.handle(c.removeRace))
	mux.HandleFunc("GET /requests", c.handle(c.requests))
	mux.HandleFunc("DELETE /requests", c.handle(c.resetLog))
	mux.HandleFunc("GET /registrations", c.handle(c.registrations))
	c.Server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go c.Serve(listener)
	return c, nil
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// handle turns an operation into a handler. A web page, which a browser on this
// machine may show, cannot use it: its requests have an Origin, or a Host that
// is not ours.
func (c *control) handle(operation func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, value := http.StatusOK, any(nil)
		var err error
		if r.Header.Get("Origin") != "" || !isLoopback(withPort(r.Host)) {
			status, err = http.StatusForbidden, errors.New("the control address is for programs on this machine, not for web pages")
		} else if value, err = operation(r); err != nil {
			status = http.StatusBadRequest
		}
		if err != nil {
			value = map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // who is gone needs no response
	}
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}

// read reads a JSON body without unknown members.
func read(r *http.Request, value any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 16<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("the request body cannot be read: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("the request body goes on behind its JSON value")
	}
	return nil
}

// attempt returns what f panics with: how the fake refuses invalid arguments.
func attempt(f func()) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = errors.New(strings.TrimPrefix(fmt.Sprint(reason), "horseracingtest: "))
		}
	}()
	f()
	return nil
}

type user struct {
	Key    string                    `json:"user_key"`
	Horses []horseracing.HorseNumber `json:"horses"`
}

func (c *control) info(*http.Request) (any, error) {
	users := make([]user, c.fake.NumUsers())
	for i := range users {
		users[i] = user{string(c.fake.UserKey(i)), c.fake.Horses(i)}
	}
	return map[string]any{"url": c.fake.URL, "api_key": c.fake.APIKey, "now": c.fake.Now(), "users": users}, nil
}

func (c *control) advance(r *http.Request) (any, error) {
	var body struct {
		By duration `json:"by"`
	}
	if err := read(r, &body); err != nil {
		return nil, err
	}
	err := attempt(func() { c.fake.Advance(time.Duration(body.By)) })
	return map[string]any{"now": c.fake.Now()}, err
}

// duration is written as in Go: "1h30m", "250ms".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// fault is a horseracingtest.Fault as JSON.
type fault struct {
	Method           string      `json:"method"`
	Path             string      `json:"path"`
	Skip             int         `json:"skip"`
	Probability      float64     `json:"probability"`
	Times            int         `json:"times"`
	Status           int         `json:"status"`
	Header           http.Header `json:"header"`
	Body             string      `json:"body"`
	Delay            duration    `json:"delay"`
	ResetBefore      bool        `json:"reset_before"`
	ResetAfter       bool        `json:"reset_after"`
	CutBody          int         `json:"cut_body"`
	Drip             duration    `json:"drip"`
	IgnoreBody       bool        `json:"ignore_body"`
	TakesEffectAfter duration    `json:"takes_effect_after"`
}

func (f *fault) fault() horseracingtest.Fault {
	return horseracingtest.Fault{
		Method: f.Method, Path: f.Path, Skip: f.Skip, Probability: f.Probability, Times: f.Times,
		Status: f.Status, Header: f.Header, Body: f.Body, Delay: time.Duration(f.Delay),
		ResetBefore: f.ResetBefore, ResetAfter: f.ResetAfter, CutBody: f.CutBody, Drip: time.Duration(f.Drip),
		IgnoreBody: f.IgnoreBody, TakesEffectAfter: time.Duration(f.TakesEffectAfter),
	}
}

func (c *control) inject(r *http.Request) (any, error) {
	var body []fault
	if err := read(r, &body); err != nil {
		return nil, err
	}
	faults := make([]horseracingtest.Fault, len(body))
	for i := range body {
		faults[i] = body[i].fault()
	}
	return map[string]int{"injected": len(faults)}, attempt(func() { c.fake.Inject(faults...) })
}

func (c *control) clearFaults(*http.Request) (any, error) {
	c.fake.ClearFaults()
	return struct{}{}, nil
}

func (c *control) setLimits(r *http.Request) (any, error) {
	var words []string
	if err := read(r, &words); err != nil {
		return nil, err
	}
	var all limits
	for _, word := range words {
		if err := all.Set(word); err != nil {
			return nil, err
		}
	}
	return map[string]int{"limits": len(all)}, attempt(func() { c.fake.SetRequestLimit(all...) })
}

func (c *control) addRaces(r *http.Request) (any, error) {
	var races []horseracing.Race
	if err := read(r, &races); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(races)}, attempt(func() { c.fake.AddRaces(races...) })
}

func (c *control) removeRace(r *http.Request) (any, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no main_race_id", r.PathValue("id"))
	}
	c.fake.RemoveRaces(horseracing.RaceID(id))
	return struct{}{}, nil
}

type request struct {
	Time   time.Time   `json:"time"`
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Status int         `json:"status"`
}

func (c *control) requests(*http.Request) (any, error) {
	all := []request{}
	for _, r := range c.fake.Requests() {
		all = append(all, request{r.Time, r.Method, r.Path, r.Header, string(r.Body), r.Status})
	}
	return all, nil
}

func (c *control) resetLog(*http.Request) (any, error) {
	c.fake.ResetLog()
	return struct{}{}, nil
}

type registration struct {
	Time  time.Time               `json:"time"`
	User  int                     `json:"user"`
	Horse horseracing.HorseNumber `json:"horse_number"`
	Race  horseracing.RaceID      `json:"main_race_id"`
	Fee   horseracing.BigInt      `json:"entry_fee"`
}

func (c *control) registrations(*http.Request) (any, error) {
	all := []registration{}
	for _, r := range c.fake.Registrations() {
		all = append(all, registration(r))
	}
	return all, nil
}
