package guarantees_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"iter"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
)

// keyForms are the ways in which a key could be written out.
func keyForms(key string) []string {
	quoted, _ := json.Marshal(key)
	ascii := strings.Trim(fmt.Sprintf("%+q", key), `"`)
	return []string{
		key, strings.Trim(string(quoted), `"`), strings.ReplaceAll(key, "/", `\/`), ascii, strings.Trim(fmt.Sprintf("%q", key), `"`),
		url.QueryEscape(key), url.PathEscape(key), html.EscapeString(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(key)), "[]byte{}"),
		strings.NewReplacer("~", "~0", "/", "~1").Replace(key), // in a JSON pointer
	}
}

// mustNotShowKeys fails if a text holds one of the keys in any form.
func mustNotShowKeys(t *testing.T, where, text string) {
	t.Helper()
	for _, key := range []string{appKey, userKey} {
		for _, form := range keyForms(key) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows a key: %.300s", where, text)
			}
		}
	}
}

var verbs = []string{"v", "+v", "#v", "s", "q", "+q", "#q", "x", "X", "#x", "d", "t", "T", "b", "o", "O", "e", "f", "g", "c", "U", "20v", ".3s", "-5q"}

// mustPrintWithoutKeys writes a value in all ways that fmt, slog and encoders have.
func mustPrintWithoutKeys(t *testing.T, name string, value any) {
	t.Helper()
	for _, verb := range verbs {
		mustNotShowKeys(t, name+" with %"+verb, fmt.Sprintf("%"+verb, value))
	}
	mustNotShowKeys(t, name+" with Sprint", fmt.Sprint(value, value))
	for kind, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		log := slog.New(handler(&b))
		log.Info("m", "value", value, slog.Group("g", "value", value))
		mustNotShowKeys(t, name+" in slog's "+kind, b.String())
	}
	switch value.(type) {
	case horseracing.Response, *horseracing.Response, horseracing.RegistrationReceipt, *horseracing.RegistrationReceipt:
		return // encoded they are what the service sent
	}
	if text, err := json.Marshal(value); err == nil {
		mustNotShowKeys(t, name+" as JSON", string(text))
	}
	if text, err := xml.Marshal(value); err == nil {
		mustNotShowKeys(t, name+" as XML", string(text))
	}
}

func TestNoValueShowsAKey(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	via := &http.Client{Transport: play(respond(200, `{"name":"`+userKey[:4]+`"}`)), Jar: jar}
	c := connect(t, service, via, horseracing.WithLogger(slog.New(slog.DiscardHandler)),
		horseracing.WithRateLimit(1000, 1000), horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
	var response horseracing.Response
	receipt, err := connect(t, service, &http.Client{Transport: play(respond(200, echo(), "X-Echo: "+appKey))}).
		Races.Register(t.Context(), entry, horseracing.CaptureResponse(&response))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"*Client": c, "Client": *c,
		"*HorsesService": c.Horses, "HorsesService": *c.Horses,
		"*RacesService": c.Races, "RacesService": *c.Races,
		"*TournamentsService": c.Tournaments, "TournamentsService": *c.Tournaments,
		"*MissionsService": c.Missions, "MissionsService": *c.Missions,
		"UserKey": horseracing.UserKey(userKey), "*UserKey": ptr(horseracing.UserKey(userKey)),
		"[]UserKey": []horseracing.UserKey{userKey}, "map of UserKey": map[string]horseracing.UserKey{"k": userKey},
		"Registration": entry, "*Registration": &entry, "[]Registration": []horseracing.Registration{entry},
		"Response": response, "*Response": &response,
		"RegistrationReceipt": *receipt, "*RegistrationReceipt": receipt,
		"Option":     horseracing.WithHTTPClient(via),
		"CallOption": horseracing.CaptureResponse(&response),
		"*Pager":     c.Races.Results(horseracing.ResultsQuery{}), "Pager": *c.Races.Results(horseracing.ResultsQuery{}),
		"*Follower": c.Races.Follow(horseracing.FollowQuery{}), "Follower": *c.Races.Follow(horseracing.FollowQuery{}),
		"*Watcher": c.Races.Watcher(horseracing.WatchQuery{}), "Snapshot": c.Races.Watcher(horseracing.WatchQuery{}).Snapshot(),
		"a struct that holds all": struct {
			C *horseracing.Client
			D horseracing.Client
			R horseracing.Registration
			A any
		}{c, *c, entry, entry},
	} {
		mustPrintWithoutKeys(t, name, value)
	}
}

//go:fix inline
func ptr[T any](v T) *T { return new(v) }

// echo is a JSON object that repeats both keys.
func echo() string {
	body, _ := json.Marshal(map[string]string{"message": "bad keys: " + appKey + " and " + userKey, appKey: userKey, userKey: appKey})
	return string(body)
}

// Every kind of error, from a service that repeats the keys wherever it can.
func TestNoErrorShowsAKey(t *testing.T) {
	t.Parallel()
	page := "<html><body>Bad keys " + html.EscapeString(appKey+" "+userKey) + " and " + appKey + "</body></html>"
	inQuery := "/x?a=" + url.QueryEscape(appKey) + "&u=" + url.QueryEscape(userKey) + "#" + url.PathEscape(userKey)
	echoing := func(status int, body string) step {
		return respond(status, body, "X-Api-Key: "+appKey, "X-User: "+userKey, "X-Query: "+inQuery, "Set-Cookie: key="+appKey,
			"Location: https://elsewhere.test"+inQuery, appKey+": x", "Retry-After: 100")
	}
	steps := map[string]step{
		"a reset that quotes": broken(fmt.Errorf("malformed header %q near %s: %w", appKey+userKey, inQuery, context.Canceled)),
		"an error in 200":     echoing(200, `{"error":`+echo()+`}`),
		"a page in 200":       echoing(200, page),
		"a wrong shape":       echoing(200, echo()),
		"a wrong type":        echoing(200, `[{"number":`+echo()+`}]`),
		"a duplicate member":  echoing(200, `[{"`+jsonText(appKey)+`":1,"`+jsonText(appKey)+`":1}]`),
		"a key for a time":    echoing(200, `[{"breeding_cooldown":"`+jsonText(appKey+userKey)+`"}]`),
		"a deep wrong type":   echoing(200, `{"`+jsonText(appKey)+`":[`+"\x01"+`]}`),
		"a cut response":      stream(200, 4000, func() (r reader) { return failingReader{errors.New("after " + appKey + ": reset")} }),
	}
	for _, status := range []int{300, 301, 304, 307, 400, 401, 403, 404, 408, 411, 418, 429, 500, 503, 599, 999} {
		steps[fmt.Sprint(status)] = echoing(status, echo())
		steps[fmt.Sprint(status, " with a page")] = echoing(status, page)
		steps[fmt.Sprint(status, " with words")] = echoing(status, "keys "+appKey+", "+userKey+", "+inQuery)
		steps[fmt.Sprint(status, " with %q")] = echoing(status, fmt.Sprintf("%q %+q %q", appKey+userKey, userKey+appKey, inQuery))
		steps[fmt.Sprint(status, " with nested words")] = echoing(status, `{"errors":[{"detail":"`+jsonText(echo())+`"}]}`)
	}
	for name, s := range steps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
				c := play(s).client(t, horseracing.WithLogger(log))
				for _, call := range []func(horseracing.CallOption) error{
					func(o horseracing.CallOption) error { _, err := c.Races.Register(t.Context(), entry, o); return err },
					func(o horseracing.CallOption) error { _, err := c.Horses.Owned(t.Context(), userKey, o); return err },
					func(o horseracing.CallOption) error {
						return c.Do(t.Context(), "POST", "/x", map[string]string{"user_key": userKey}, new(int), o)
					},
					func(o horseracing.CallOption) error {
						type nested struct{ Deep []horseracing.UserKey }
						return c.Do(t.Context(), "GET", "/x", nested{[]horseracing.UserKey{userKey}}, new(int), o)
					},
				} {
					var response horseracing.Response
					err := call(horseracing.CaptureResponse(&response))
					if err == nil {
						continue // a receipt
					}
					if len(err.Error()) >= 2048 {
						t.Errorf("a text of %d bytes", len(err.Error()))
					}
					for e := range everyError(err) {
						mustPrintWithoutKeys(t, fmt.Sprintf("%T", e), e)
						if api, ok := e.(*horseracing.APIError); ok {
							mustPrintWithoutKeys(t, "APIError", *api)
							mustNotShowKeys(t, "Body", string(api.Body))
							mustNotShowKeys(t, "Message", api.Message)
							mustNotShowKeys(t, "Header", fmt.Sprint(api.Header))
						}
					}
					mustNotShowKeys(t, "Response.Body", string(response.Body))
					mustNotShowKeys(t, "Response.Header", fmt.Sprint(response.Header))
				}
				mustNotShowKeys(t, "the log", logged.String())
			})
		})
	}
}

func jsonText(s string) string {
	quoted, _ := json.Marshal(s)
	return strings.Trim(string(quoted), `"`)
}

// everyError ranges over an error and all that it wraps.
func everyError(err error) func(func(error) bool) {
	var walk func(error, func(error) bool) bool
	walk = func(err error, yield func(error) bool) bool {
		if err == nil {
			return true
		}
		if !yield(err) {
			return false
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			return walk(e.Unwrap(), yield)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if !walk(inner, yield) {
					return false
				}
			}
		}
		return true
	}
	return func(yield func(error) bool) { walk(err, yield) }
}

// An error whose text was redacted is still what it was.
func TestARedactedErrorKeepsItsMeaning(t *testing.T) {
	s := play(broken(fmt.Errorf("%s: %w", appKey, errReset)))
	_, err := s.client(t, briefly).Races.Open(t.Context())
	if !errors.Is(err, errReset) {
		t.Errorf("got %v", err)
	}
	mustPrintWithoutKeys(t, "the error", err)
}

// surfaces are all texts that a caller, a log or a terminal can see of a failed call.
func surfaces(err error, response horseracing.Response, logged string) map[string]string {
	texts := map[string]string{
		"the log": logged, "Response.Body": string(response.Body), "Response.Header": fmt.Sprint(response.Header), "Response": fmt.Sprintf("%v %+v %#v", response, response, response),
	}
	for e := range everyError(err) {
		values := []any{e}
		switch e := e.(type) {
		case *horseracing.APIError:
			texts["Message"], texts["Body"], texts["Header"], values = e.Message, string(e.Body), fmt.Sprint(e.Header), append(values, *e)
		case *horseracing.DecodeError:
			texts["Raw"], texts["Field"], texts["DecodeError.ID"], values = string(e.Raw), e.Field, e.ID, append(values, *e)
		case *horseracing.TransportError:
			values = append(values, *e)
		}
		for _, value := range values {
			name := fmt.Sprintf("%T ", value)
			texts[name+"Error"] = e.Error()
			for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s"} {
				texts[name+verb] = fmt.Sprintf(verb, value)
			}
			var text, encoded bytes.Buffer
			slog.New(slog.NewTextHandler(&text, nil)).Error("m", "error", value, slog.Group("g", "errors", []any{value}))
			slog.New(slog.NewJSONHandler(&encoded, nil)).Error("m", "error", value, slog.Group("g", "errors", []any{value}))
			texts[name+"in slog's text"], texts[name+"in slog's JSON"] = text.String(), encoded.String()
		}
	}
	return texts
}

// A number is cut in an error's text: not within a key of digits.
func TestNoPartOfAKeyOfDigitsIsShown(t *testing.T) {
	for n := 6; n <= 100; n++ {
		digits := strings.Repeat("1234567890", 10)[:n]
		for _, body := range []string{`[{"name":` + digits + `}]`, `[{"number":` + digits + `0}]`, `[{"entry_fee":-` + digits + `.5}]`, `[{"level":` + digits + `e999999}]`} {
			c, err := horseracing.NewClient(service, digits, horseracing.WithHTTPClient(&http.Client{Transport: play(respond(200, body))}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Horses.Owned(t.Context(), userKey)
			if err == nil {
				continue
			}
			if strings.Contains(err.Error(), digits[:n*3/4]) {
				t.Errorf("%d digits: %v", n, err)
			}
		}
	}
}

// A number that an error names can be the key as well.
func TestAKeyForANumberIsRedacted(t *testing.T) {
	const digits = "1234567890123456"
	for name, body := range map[string]string{
		"another race":       `[{"main_race_id":` + digits + `,"start_time":1,"participants":[]}]`,
		"an unreadable race": `[{"main_race_id":` + digits + `,"start_time":"x"}]`,
		"an entry's id":      `[{"main_race_id":1},{"main_race_id":` + digits + `,"places":"x"}]`,
		"an error object":    `{"error":{"message":"no race ` + digits + `","code":` + digits + `}}`,
	} {
		c, err := horseracing.NewClient(service, digits, horseracing.WithHTTPClient(&http.Client{Transport: play(respond(200, body))}))
		if err != nil {
			t.Fatal(err)
		}
		var response horseracing.Response
		for _, err := range []error{
			errorOf(c.Races.Get(t.Context(), 7, horseracing.CaptureResponse(&response))),
			errorOf(c.Races.Open(t.Context())), errorOf(c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 20)),
		} {
			for where, text := range surfaces(err, horseracing.Response{Header: response.Header}, "") {
				if strings.Contains(text, digits) {
					t.Errorf("%s: %s shows the key: %.300s", name, where, text)
				}
			}
		}
	}
}

// What is made of several requests shows no more than each of them.
func TestNoErrorOfSeveralRequestsShowsAKey(t *testing.T) {
	for _, status := range []int{200, 401, 500} {
		for i, shape := range shapes {
			body := shape(between(appKey, "\u00ad"))
			c := play(respond(status, body)).client(t, horseracing.WithRetry(horseracing.Retry{Max: -1}))
			failures := map[string]error{
				"GetMany":   errorOf(c.Horses.GetMany(t.Context(), []horseracing.HorseNumber{1, 2, 3})),
				"Results":   errorOf(c.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).Take(t.Context(), 1)),
				"version 1": errorOf(c.Races.ResultsV1(horseracing.OffsetQuery{}).Take(t.Context(), 1)),
				"Follow":    firstError(c.Races.Follow(horseracing.FollowQuery{Since: time.Unix(1, 0)}).All(t.Context())),
				"WatchOpen": firstError(c.Races.WatchOpen(t.Context(), horseracing.WatchQuery{})),
			}
			for name, err := range failures {
				for where, text := range surfaces(err, horseracing.Response{}, "") {
					mustNotRead(t, fmt.Sprintf("%s, status %d, shape %d: %s", name, status, i, where), text)
				}
			}
		}
	}
}

func firstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return nil
}

// What the caller writes into a path or an id is repeated in no error either.
func TestAKeyInWhatTheCallerGivesIsRedacted(t *testing.T) {
	c := play(respond(404, "")).client(t)
	for name, err := range map[string]error{
		"path":                          c.Do(t.Context(), "GET", "/users/"+url.PathEscape(appKey)+"/horses", nil, nil),
		"query":                         c.Do(t.Context(), "GET", "/horses?key="+url.QueryEscape(appKey), nil, nil),
		"refused":                       c.Do(t.Context(), "GET", "https://elsewhere.test/"+appKey, nil, nil),
		"walking":                       c.Do(t.Context(), "GET", "/"+url.PathEscape(appKey)+"/../x", nil, nil),
		"method":                        c.Do(t.Context(), appKey, "/x", nil, nil),
		"a user's key":                  c.Do(t.Context(), "GET", "/"+strings.Repeat("x", 100)+url.PathEscape(userKey), horseracing.Registration{UserKey: userKey}, nil),
		"an id":                         errorOf(c.Tournaments.Get(t.Context(), appKey)),
		"an id that the response lacks": errorOf(play(respond(200, "null")).client(t).Tournaments.Get(t.Context(), appKey)),
		"an id that cannot be read":     errorOf(play(respond(200, `{"_id":7}`)).client(t).Tournaments.Get(t.Context(), appKey)),
		"an id of many such entries":    errorOf(play(respond(200, "["+strings.Repeat(`{"_id":7},`, 200)+"7]")).client(t).Tournaments.Get(t.Context(), appKey)),
		"an id without a connection":    errorOf(play(broken(errReset)).client(t, briefly).Tournaments.Get(t.Context(), appKey)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		mustPrintWithoutKeys(t, name, err)
		for where, text := range surfaces(err, horseracing.Response{}, "") {
			mustNotShowKeys(t, name+": "+where, text)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// unwritable cannot be encoded, and its error contains the keys.
type unwritable struct{ Key horseracing.UserKey }

func (u unwritable) MarshalText() ([]byte, error) {
	return nil, errors.New("not with " + appKey + " and " + string(u.Key))
}

func TestABodyThatCannotBeEncodedShowsNoKey(t *testing.T) {
	body := struct {
		Key horseracing.UserKey
		Bad unwritable
	}{userKey, unwritable{userKey}}
	err := play(respond(200, "{}")).client(t).Do(t.Context(), "POST", "/x", body, nil)
	if !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "not with [redacted] and [redacted]") {
		t.Errorf("got %v", err)
	}
	mustPrintWithoutKeys(t, "the error", err)
}

// Of a body that was cut, the first part of a key may be the end.
func TestHalfAKeyIsRedacted(t *testing.T) {
	t.Parallel()
	for _, key := range keyForms(appKey)[:8] {
		for n := 1; n <= len(key); n++ {
			half := "your key: " + key[:n]
			for name, s := range map[string]step{
				"the connection broke": stream(401, 1000, func() reader { return readers(half, errReset) }),
				"beyond the limit":     respond(401, strings.Repeat("x", 1000-len(half))+half+key[n:]+"more"),
				"beyond 64 KiB":        respond(401, strings.Repeat("x", 64<<10-len(half))+half+key[n:]+"more"),
			} {
				var response horseracing.Response
				limit := horseracing.WithMaxResponseBytes(1000)
				if name == "beyond 64 KiB" {
					limit = nil
				}
				_, err := play(s).client(t, limit).Races.Open(t.Context(), horseracing.CaptureResponse(&response))
				var api *horseracing.APIError
				if !errors.As(err, &api) {
					t.Fatal(err)
				}
				for where, text := range map[string]string{"Body": string(api.Body), "Message": api.Message, "Response.Body": string(response.Body)} {
					_, after, _ := strings.Cut(text, "your key: ")
					if strings.Contains(strings.ToLower(after), "app-k") || len(after) > len("app-") && !strings.HasPrefix("[redacted]more", after) {
						t.Errorf("%s, %d of %q: %s ends in %q", name, n, key, where, after)
					}
				}
			}
		}
	}
}

// Only the request itself carries the keys.
func TestTheKeysAreSent(t *testing.T) {
	s := play(respond(200, "[]"))
	if _, err := s.client(t).Horses.Owned(t.Context(), userKey); err != nil {
		t.Fatal(err)
	}
	r := s.requests()[0]
	var body map[string]string
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || body["user_key"] != userKey {
		t.Errorf("body %s", r.body)
	}
	if got := r.request.Header.Get("x-api-key"); got != appKey {
		t.Errorf("x-api-key: %s", got)
	}
	if strings.Contains(r.request.URL.String(), "key") {
		t.Errorf("URL %v", r.request.URL)
	}
}

// TestTheLibraryPrintsNothing runs itself as a program of its own, whose
// output is then read.
func TestTheLibraryPrintsNothing(t *testing.T) {
	const variable = "HORSERACING_TEST_CHILD"
	if os.Getenv(variable) != "" {
		s := play(broken(errReset), respond(503, echo()), respond(302, "", "Location: /x?"+appKey), respond(200, "<html>"), respond(200, echo()))
		c := s.client(t, briefly)
		for range 5 {
			c.Races.Open(t.Context())
			c.Races.Register(t.Context(), entry)
			c.Horses.Owned(t.Context(), userKey)
		}
		os.Exit(0)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestTheLibraryPrintsNothing$")
	child.Env = append(os.Environ(), variable+"=1")
	if output, err := child.CombinedOutput(); err != nil || len(output) != 0 {
		t.Errorf("printed %q, %v", output, err)
	}
}
