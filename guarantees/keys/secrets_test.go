package keys_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jarcoal/httpmock"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestNoValueShowsAKey(t *testing.T) {
	via := &http.Client{Transport: double.TripFunc(double.Respond(200, echo(), "X-Echo: "+double.AppKey))}
	c := double.Connect(t, double.Service+"/"+double.AppKey, via)
	var response horseracing.Response
	receipt := double.Must(c.Races.Register(t.Context(), double.Entry, horseracing.CaptureResponse(&response)))
	for name, value := range map[string]any{
		"*Client": c, "Client": *c, "*RacesService": c.Races, "RacesService": *c.Races,
		"*UserKey": new(horseracing.UserKey(double.UserKey)), "[]UserKey": []horseracing.UserKey{double.UserKey}, "*Registration": &double.Entry,
		"Response": response, "*Response": &response, "RegistrationReceipt": *receipt, "*RegistrationReceipt": receipt,
		"Option": horseracing.WithUserKeys(double.UserKey), "CallOption": horseracing.CaptureResponse(&response),
		"*Pager": c.Races.Results(horseracing.ResultsQuery{}), "Pager": *c.Races.Results(horseracing.ResultsQuery{}),
		"*Follower": c.Races.Follow(horseracing.FollowQuery{}), "Watch": c.Races.Watch(t.Context(), horseracing.WatchQuery{}),
		"a struct that holds some": struct{ Client, Entry any }{c, double.Entry},
	} {
		for _, text := range printed(value) {
			mustNotShowKeys(t, name, text)
		}
	}
}

func jsonText(s string) string {
	quoted, _ := json.Marshal(s)
	return strings.Trim(string(quoted), `"`)
}

func errorOf[T any](_ T, err error) error { return err }

// echo is a JSON object that repeats both keys.
func echo() string {
	body, _ := json.Marshal(map[string]string{"message": "bad keys: " + double.AppKey + " and " + double.UserKey, double.AppKey: double.UserKey, double.UserKey: double.AppKey})
	return string(body)
}

// disguises write a key into JSON so that a reader still sees it.
var disguises = map[string]func(key string) string{
	"as it is":                 jsonText,
	"escaped throughout":       func(key string) string { return escaped(`\u%04X`, key[:len(key)-3]) + jsonText(key[len(key)-3:]) },
	"as numbers of HTML":       numbersOfHTML,
	"escaped as in small URLs": func(key string) string { return escaped("%%%02x", key) },
}

func numbersOfHTML(text string) (escaped string) {
	for _, r := range text {
		escaped += fmt.Sprintf("&#x%x;", r)
	}
	return escaped
}

// Every kind of error, from a service that repeats the keys wherever it can.
func TestNoErrorShowsAKey(t *testing.T) {
	t.Parallel()
	page := "<html><body>Bad keys " + double.AppKey + " " + double.UserKey + " and " + double.AppKey + "</body></html>"
	inQuery := "/x?a=" + url.QueryEscape(double.AppKey) + "&u=" + url.QueryEscape(double.UserKey) + "#" + url.PathEscape(double.UserKey)
	echoing := func(status int, body string) httpmock.Responder {
		return double.Respond(status, body, "X-Api-Key: "+double.AppKey, "X-User: "+double.UserKey, "X-Query: "+inQuery, "Set-Cookie: key="+double.AppKey,
			"Location: https://elsewhere.test"+inQuery, double.AppKey+": x", "Retry-After: 100")
	}
	steps := map[string]httpmock.Responder{
		"a reset that quotes": httpmock.NewErrorResponder(fmt.Errorf("malformed header %q near %s: %w%s", double.AppKey+double.UserKey, inQuery, context.Canceled, strings.Repeat(" word", 1000))),
		"an error in 200":     echoing(200, `{"error":`+echo()+`}`),
		"a page in 200":       echoing(200, page),
		"a wrong shape":       echoing(200, echo()),
		"a wrong type":        echoing(200, `[{"number":`+echo()+`}]`),
		"a duplicate member":  echoing(200, `[{"`+jsonText(double.AppKey)+`":1,"`+jsonText(double.AppKey)+`":1}]`),
		"a key for a time":    echoing(200, `[{"breeding_cooldown":"`+jsonText(double.AppKey+double.UserKey)+`"}]`),
		"a deep wrong type":   echoing(200, `{"`+jsonText(double.AppKey)+`":[`+"\x01"+`]}`),
		"a cut response":      double.Stream(200, 4000, func() io.Reader { return iotest.ErrReader(errors.New("after " + double.AppKey + ": reset")) }),
	}
	for name, disguise := range disguises {
		app, user := disguise(double.AppKey), disguise(double.UserKey)
		steps[name] = double.Respond(403, `{"message":"no key `+app+`, `+user+`"}`, "X-Echo: "+app, "X-Echo: "+user)
		steps[name+", as words"] = double.Respond(401, "no key "+app+", "+user, "Location: /"+app)
		steps[name+", in a wrong shape"] = double.Respond(200, `[{"race":{"x`+app+`":1},"number":"`+user+`"}]`)
	}
	for _, status := range []int{307, 403, 404, 429, 503} {
		steps[fmt.Sprint(status)] = echoing(status, echo())
		steps[fmt.Sprint(status, " with a page")] = echoing(status, page)
		steps[fmt.Sprint(status, " with words")] = echoing(status, "keys "+double.AppKey+", "+double.UserKey+", "+inQuery)
	}
	for name, s := range steps {
		double.Run(t, name, func(t *testing.T) {
			var logged bytes.Buffer
			log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c := double.Client(t, s, horseracing.WithLogger(log))
			withKeys := double.Client(t, s, horseracing.WithLogger(log), horseracing.WithUserKeys("", double.UserKey)) // which no request has
			var response horseracing.Response
			capture := horseracing.CaptureResponse(&response)
			type nested struct{ Deep []horseracing.UserKey }
			results, follow := horseracing.ResultsQuery{Concurrency: 4}, horseracing.FollowQuery{Since: time.Unix(1, 0)}
			do := func(ctx context.Context, method string, body any) error {
				return c.Do(ctx, method, "/x", body, new(int), capture)
			}
			for name, call := range map[string]func(context.Context) error{
				"Register":          func(ctx context.Context) error { return errorOf(c.Races.Register(ctx, double.Entry, capture)) },
				"Owned":             func(ctx context.Context) error { return errorOf(c.Horses.Owned(ctx, double.UserKey, capture)) },
				"a key in a body":   func(ctx context.Context) error { return do(ctx, "POST", map[string]string{"user_key": double.UserKey}) },
				"a key deep in one": func(ctx context.Context) error { return do(ctx, "GET", nested{[]horseracing.UserKey{double.UserKey}}) },
				"Results":           func(ctx context.Context) error { return firstError(withKeys.Races.Results(results).All(ctx)) },
				"Follow":            func(ctx context.Context) error { return firstError(withKeys.Tournaments.Follow(follow).All(ctx)) },
				"Watch": func(ctx context.Context) error {
					return firstError(withKeys.Races.Watch(ctx, horseracing.WatchQuery{}))
				},
			} {
				err := call(double.Within(t, time.Hour))
				if err == nil {
					continue // a receipt, or races without a member that shows a key
				}
				double.FailIf(t, len(err.Error()) >= 2048, "%s: a text of %d bytes", name, len(err.Error()))
				mustHide(t, name, err)
				for _, text := range append(printed(response), string(response.Body), fmt.Sprint(response.Header), logged.String()) {
					mustNotShowKeys(t, name+", its response or the log", text)
				}
			}
		})
	}
}

// The names of members and the notes of a ledger are made of what the service sends.
func TestNoDriftAndNoNoteShowsAKey(t *testing.T) {
	for name, disguise := range disguises {
		app, user := disguise(double.AppKey), disguise(double.UserKey)
		var texts []string
		collect := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) { texts = append(texts, d.Path) })
		c := double.Client(t, httpmock.NewStringResponder(200, `[{"main_race_id":1,"`+app+`":1,"info":{"x`+user+`":2}}]`), collect, horseracing.WithUserKeys(double.UserKey))
		if _, err := c.Races.Open(t.Context()); err == nil && len(texts) != 2 { // JSON has no control characters
			t.Errorf("%s: %q", name, texts)
		}
		refusing := double.Client(t, httpmock.NewStringResponder(403, `{"message":"no key `+app+`, `+user+`"}`))
		db := double.Must(sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "l.db")+"?mode=rwc"))
		defer db.Close()
		double.NoError(t, ledger.Create(t.Context(), db, refusing))
		l := double.Must(ledger.Open(t.Context(), db, refusing, ledger.WithoutLook()))
		entry, _ := l.Register(t.Context(), double.Entry, horseracing.NewBigInt(1))
		for _, text := range append(texts, entry.Note) {
			if mustNotShowKeys(t, name, text); !strings.Contains(text, "[redacted]") {
				t.Errorf("%s: nothing is redacted in %q", name, text)
			}
		}
	}
}

func firstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// A number that an error names can be the key as well.
func TestAKeyForANumberIsRedacted(t *testing.T) {
	const digits, key = "1234567890123456", 1234567890123456
	for name, step := range map[string]httpmock.Responder{
		"another race":       double.Respond(200, `[{"main_race_id":`+digits+`,"start_time":1,"participants":[]}]`),
		"an unreadable race": double.Respond(200, `[{"main_race_id":1},{"main_race_id":`+digits+`,"start_time":"x"}]`),
		"an error object":    double.Respond(200, `{"error":{"message":"no race `+digits+`","code":`+digits+`}}`),
		"a redirect":         double.Respond(307, "", "Location: https://"+digits+".new.test"),
	} {
		c := double.Must(horseracing.NewClient(double.Service, digits, horseracing.WithHTTPClient(&http.Client{Transport: double.TripFunc(step)})))
		for _, err := range []error{
			errorOf(c.Races.Get(t.Context(), 7)), errorOf(c.Races.Open(t.Context())), errorOf(c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 20)),
			errorOf(c.Races.Registered(t.Context(), key, -1)), errorOf(c.Horses.Get(t.Context(), -key)),
			errorOf(c.Races.Register(t.Context(), horseracing.Registration{Race: -key, Horse: 7, UserKey: double.UserKey})),
		} {
			text := strings.Join(surfaces(err), "\n")
			double.FailIf(t, strings.Contains(text, digits), "%s: the key shows: %s", name, text)
		}
	}
}

// What the caller writes into a path or an id is repeated in no error either. The name of an encoding comes in
// small letters from net/http, in which a key is not found.
func TestAKeyInWhatTheCallerGivesIsRedacted(t *testing.T) {
	missing := double.Client(t, httpmock.NewStringResponder(404, ""))
	do := func(method, path string, body any) error { return missing.Do(t.Context(), method, path, body, nil) }
	get := func(respond httpmock.Responder) error {
		return errorOf(double.Client(t, respond, double.Briefly).Tournaments.Get(t.Context(), double.AppKey))
	}
	for name, err := range map[string]error{
		"path":                          do("GET", "/users/"+url.PathEscape(double.AppKey)+"/horses", nil),
		"refused":                       do("GET", "https://elsewhere.test/"+double.AppKey, nil),
		"walking":                       do("GET", "/"+url.PathEscape(double.AppKey)+"/../x", nil),
		"a user's key":                  do("GET", "/"+strings.Repeat("x", 100)+url.PathEscape(double.UserKey), horseracing.Registration{UserKey: double.UserKey}),
		"a body":                        do("POST", "/x", []any{horseracing.UserKey(double.UserKey), unwritable{double.UserKey}}),
		"an id":                         get(double.Respond(404, "")),
		"an id that the response lacks": get(double.Respond(200, "null")),
		"an id that cannot be read":     get(double.Respond(200, `{"_id":7}`)),
		"an id without a connection":    get(httpmock.NewErrorResponder(double.ErrReset)),
		"an encoding":                   get(double.Respond(200, "x", "Content-Encoding: "+double.AppKey)),
	} {
		mustHide(t, name, err)
		text := strings.ToLower(fmt.Sprint(err))
		double.FailIf(t, err == nil || strings.Contains(text, strings.ToLower(double.AppKey)), "%s: %v", name, err)
	}
}

// unwritable cannot be encoded, and its error contains the keys.
type unwritable struct{ Key horseracing.UserKey }

func (u unwritable) MarshalText() ([]byte, error) {
	return nil, errors.New("not with " + double.AppKey + " and " + string(u.Key))
}

// The end of a body that was cut may be a part of a key; internal/redact has each length.
func TestHalfAKeyIsRedacted(t *testing.T) {
	half, rest := "your key: "+double.AppKey[:len(double.AppKey)-2], double.AppKey[len(double.AppKey)-2:]
	for name, test := range map[string]struct {
		respond httpmock.Responder
		limit   int64
	}{
		"the connection broke": {double.Stream(401, 1000, func() io.Reader { return double.Readers(half, double.ErrReset) }), 1000},
		"beyond the limit":     {double.Respond(401, strings.Repeat("x", 1000-len(half))+half+rest+"more"), 1000},
		"beyond 64 KiB":        {double.Respond(401, strings.Repeat("x", 64<<10-len(half))+half+rest+"more"), 1 << 20},
	} {
		var response horseracing.Response
		_, err := double.Client(t, test.respond, horseracing.WithMaxResponseBytes(test.limit)).Races.Open(t.Context(), horseracing.CaptureResponse(&response))
		api, ok := errors.AsType[*horseracing.APIError](err)
		double.FailIf(t, !ok || strings.Contains(string(api.Body)+api.Message+string(response.Body), "app-K"), "%s: %v, %s", name, err, response.Body)
	}
}

// TestTheLibraryPrintsNothing runs itself as a program of its own, whose
// output is then read.
func TestTheLibraryPrintsNothing(t *testing.T) {
	const variable = "HORSERACING_TEST_CHILD"
	if os.Getenv(variable) != "" {
		c := double.Client(t, double.InTurn(httpmock.NewErrorResponder(double.ErrReset), double.Respond(503, echo()), double.Respond(302, "", "Location: /x?"+double.AppKey),
			double.Respond(200, "<html>"), double.Respond(200, echo())), double.Briefly)
		for range 5 {
			_, _ = double.OpenRaces(t.Context(), c), double.Register(t.Context(), c)
		}
		fmt.Println("end")
		os.Exit(0)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestTheLibraryPrintsNothing$")
	child.Env = append(os.Environ(), variable+"=1")
	if output, err := child.CombinedOutput(); err != nil || !bytes.HasPrefix(output, []byte("end\n")) { // test coverage may print after it
		t.Errorf("printed %q, %v", output, err)
	}
}

// FuzzErrorBodies gives any status, body and header to a read and a
// registration: every failure is reported, without the keys.
func FuzzErrorBodies(f *testing.F) {
	f.Add(400, `{"error":{"message":"x"}}`, "1", uint8(0))
	f.Add(401, "keys "+double.AppKey+" "+double.UserKey, double.AppKey, uint8(3))
	f.Add(403, "<html>", "/x", uint8(0))
	f.Add(429, `{"errors":["`+jsonText(double.UserKey)+`"]}`, "Fri, 31 Dec 9999 23:59:59 GMT", uint8(9))
	f.Add(302, "%61pp-Key%2F91", "https://a.test/?k="+double.AppKey, uint8(2))
	f.Add(400, strings.Repeat("word ", 1<<11), "https://"+strings.Repeat("x", 10_000)+".test/", uint8(0)) // no text is longer than 2,048 bytes
	f.Add(503, `\u0061pp-Key\/91+d7=e4`, "99999999999999999999", uint8(1))
	f.Fuzz(func(t *testing.T, status int, body, header string, cut uint8) {
		if status < 100 || status > 999 || len(body)+len(header) > 1<<16 || hidesKey(body) || hidesKey(header) { // longer ones find nothing more, and take longer
			return
		}
		end := double.ErrReset
		if cut == 0 {
			end = io.EOF
		}
		down := double.Stream(status, -1, func() io.Reader { return double.Readers(body[:max(0, len(body)-int(cut))], end) })
		requests := 0
		respond := func(req *http.Request) (*http.Response, error) {
			requests++
			resp, err := down(req)
			resp.Header = http.Header{"Retry-After": {header}, "Location": {header}, "X-Echo": {body, header}}
			return resp, err
		}
		for _, call := range []func(context.Context, *horseracing.Client) error{double.Register, double.Owned} {
			c := double.Client(t, respond, double.NoRetries(), horseracing.WithUserKeys(double.UserKey)) // one of its own, which waits for no Retry-After
			err := call(t.Context(), c)
			if err != nil {
				double.CheckError(t, "call", err)
				mustHide(t, "call", err)
			} else if status < 200 || status > 299 {
				t.Errorf("status %d is a success", status)
			}
		}
		double.Equal(t, "requests", 2, requests)
	})
}

// mustHide fails if an error, or one that it wraps, shows a key to a caller, a log or a terminal.
func mustHide(t *testing.T, name string, err error) {
	t.Helper()
	for _, text := range surfaces(err) {
		mustNotShowKeys(t, name, text)
	}
}

// surfaces are all texts that can be seen of an error and of all that it wraps.
func surfaces(err error) []string {
	texts := printed(err)
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case *horseracing.APIError:
		texts = append(append(texts, e.Message, string(e.Body), fmt.Sprint(e.Header)), printed(*e)...)
	case *horseracing.DecodeError:
		texts = append(append(texts, e.Field, string(e.Raw), e.ID), printed(*e)...)
	case *horseracing.TransportError:
		texts = append(texts, printed(*e)...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			texts = append(texts, surfaces(inner)...)
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		texts = append(texts, surfaces(inner)...)
	}
	return texts
}

// printed are the texts that fmt, slog and encoders write of a value.
func printed(value any) []string {
	texts := []string{fmt.Sprintf("%v %+v", []any{value}, []any{value})}
	for _, verb := range []string{"v", "+v", "#v", "s", "q", "x", "#x", "d", "t", "T", "U", "20v", ".3s"} {
		texts = append(texts, fmt.Sprintf("%"+verb, value))
	}
	var text, encoded bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&encoded, nil)} {
		slog.New(handler).Error("m", "error", value, slog.Group("g", "value", value))
	}
	texts = append(texts, text.String(), encoded.String())
	switch value.(type) {
	case horseracing.Response, *horseracing.Response, horseracing.RegistrationReceipt, *horseracing.RegistrationReceipt:
		return texts // encoded they are what the service sent
	}
	asJSON, _ := json.Marshal([]any{value})
	asXML, _ := xml.Marshal([]any{value})
	return append(texts, string(asJSON), string(asXML))
}

// escaped writes each byte of a text with a format, such as \\u%04x in JSON.
func escaped(format, text string) (out string) {
	for _, b := range []byte(text) {
		out += fmt.Sprintf(format, b)
	}
	return out
}

// keyForms are the ways in which a key could be written out.
func keyForms(key string) []string {
	return []string{
		escaped("%%%02x", key), escaped("%%%02X", key), escaped(`\u%04x`, key), escaped(`\u%04X`, key),
		key, jsonText(key), strings.Trim(fmt.Sprintf("%q", key), `"`), url.QueryEscape(key), url.PathEscape(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(key)), "[]byte{}"),
		strings.NewReplacer("~", "~0", "/", "~1").Replace(key), // in a JSON pointer
	}
}

var forms = slices.Concat(keyForms(double.AppKey), keyForms(double.UserKey))

// visible leaves out what does not show.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// hidesKey reports whether something between the characters of a key does not show. In what is received such a key
// is not looked for.
func hidesKey(text string) bool {
	shown := visible(text)
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Count(shown, form) > strings.Count(text, form) })
}

// mustNotShowKeys fails if a text holds one of the keys in any form, even if something between
// its characters does not show.
func mustNotShowKeys(t *testing.T, where, text string) {
	t.Helper()
	shown := visible(text)
	for _, form := range forms {
		double.FailIf(t, strings.Contains(shown, form), "%s shows a key: %.300s", where, text)
	}
}
