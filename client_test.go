package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

func TestNewClientChecksTheBaseURL(t *testing.T) {
	plain := horseracing.WithPlainHTTP()
	for _, test := range []struct {
		url  string
		opt  horseracing.Option
		want string // of the request for the open races
	}{
		{"https://game.test", nil, "https://game.test/api/v1/races/open"},
		{"https://game.test/base//", nil, "https://game.test/base/api/v1/races/open"},
		{"https://game.test/a%2Fb/c%20d", nil, "https://game.test/a%2Fb/c%20d/api/v1/races/open"},
		{"http://localhost:8080", nil, "http://localhost:8080/api/v1/races/open"},
		{"http://[::1]:99", nil, "http://[::1]:99/api/v1/races/open"},
		{"http://game.test", plain, "http://game.test/api/v1/races/open"},
	} {
		var sent []double.Sent
		c := double.Connect(t, test.url, &http.Client{Transport: double.TripFunc(double.Noting(&sent, httpmock.NewStringResponder(200, "[]")))}, test.opt)
		double.Error(t, test.url, nil, "", double.OpenRaces(t.Context(), c))
		double.Equal(t, test.url+": request", test.want, sent[0].Request.URL.String())
		double.Equal(t, test.url+": BaseURL", strings.TrimSuffix(test.want, "/api/v1/races/open"), c.BaseURL())
	}
	checkInvalid(t, "without WithPlainHTTP", "horseracing: NewClient: ", errorOf(horseracing.NewClient("http://game.test", double.AppKey)))
	checkInvalid(t, "a host like the local one", "horseracing: NewClient: ", errorOf(horseracing.NewClient("http://localhost.game.test", double.AppKey)))
	for _, url := range []string{
		"game.test", "https:game.test", "ftp://game.test", "https://user:secret-word@game.test", "https://game.test?a=secret-word",
		"https://game.test/#secret-word", "https://user:secret-word@game.test:port", "https://ga me.test",
	} {
		c, err := horseracing.NewClient(url, double.AppKey, plain)
		checkInvalid(t, url, "horseracing: NewClient: ", err)
		double.FailIf(t, c != nil || strings.Contains(fmt.Sprint(err), "secret-word"), "%s: %v, %v", url, c, err)
	}
}

// checkInvalid fails unless an error is ErrInvalidArgument and has a text, or, if the text is empty,
// unless there is none.
func checkInvalid(t *testing.T, what, text string, err error) {
	t.Helper()
	double.Error(t, what, map[bool]error{true: horseracing.ErrInvalidArgument}[text != ""], text, err)
}

// One check is made of all values that people paste or read from a file.
func TestPastedValuesAreRefusedWithWhatWasFoundInThem(t *testing.T) {
	client := responding(t, "[]")
	const key = "0123456789"
	for value, want := range map[string]string{
		"":     "is empty",
		"%s\n": "contains a newline", "%s\r\n": "contains a newline",
		"\ufeff%s": "contains a byte order mark",
		`"%s"`:     "is in quotes", "'%s'": "is in quotes",
		"%s\u200b": "contains the invisible character U+200B",
		"a\x00%s":  "contains the control character U+0000",
		" %s":      "begins or ends with a space", "%s\u00a0": "begins or ends with a space",
	} {
		value = strings.ReplaceAll(value, "%s", key)
		for name, err := range map[string]error{
			"the API key":  errorOf(horseracing.NewClient(double.Service, value)),
			"the user key": errorOf(client.Horses.Owned(t.Context(), horseracing.UserKey(value))),
			"the base URL": errorOf(horseracing.NewClient(strings.ReplaceAll(value, key, double.Service), key)),
		} {
			checkInvalid(t, value, name+" "+want, err)
			double.FailIf(t, strings.Contains(fmt.Sprint(err), key), "the key is shown: %v", err)
		}
	}
	for _, value := range []string{`it's a "0123456789" 'key`, "0123456789 ключ"} {
		_, err := horseracing.NewClient(double.Service, value)
		double.Error(t, value, nil, "", errors.Join(err, errorOf(client.Horses.Owned(t.Context(), horseracing.UserKey(value)))))
	}
}

func TestNewClientFromEnvNamesTheVariable(t *testing.T) {
	for _, test := range []struct{ url, key, want string }{
		{"", double.AppKey, "set HORSERACING_BASE_URL to the service's URL, of the form https://host, and HORSERACING_API_KEY to your API key"},
		{double.Service, "", "HORSERACING_API_KEY"},
		{"http://game.test", double.AppKey, "WithPlainHTTP"},
		{double.Service, double.AppKey + "\n", "HORSERACING_API_KEY contains a newline"},
		{"'" + double.Service + "'", double.AppKey, "HORSERACING_BASE_URL is in quotes"},
		{double.Service, double.AppKey, ""},
	} {
		t.Setenv("HORSERACING_BASE_URL", test.url)
		t.Setenv("HORSERACING_API_KEY", test.key)
		c, err := horseracing.NewClientFromEnv()
		checkInvalid(t, test.url+", "+test.key, test.want, err)
		double.Equal(t, "a client", err == nil, c != nil)
	}
}

// No id reaches another operation than the one it was given to, and Do keeps its path.
func TestClientKeepsIDsInTheirSegmentAndPathsAsTheyAre(t *testing.T) {
	const cup, base = "/api/v1/tournaments/", double.Service + "/base"
	var sent string
	c := double.Connect(t, base, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
		sent = req.URL.String()
		return double.Respond(200, `[{"name":"Cup"}]`)(req)
	})})
	check := func(what, want string, err error) {
		double.Equal(t, what, want, strings.TrimPrefix(sent, base))
		double.Equal(t, what+" is invalid", want == "", errors.Is(err, horseracing.ErrInvalidArgument))
		sent = ""
	}
	for id, want := range map[horseracing.TournamentID]string{
		"5f0c": cup + "5f0c", "a/b": cup + "a%2Fb", "../races/open": cup + "..%2Fraces%2Fopen", "a%2Fb": cup + "a%252Fb",
		"a b;c": cup + "a%20b%3Bc", "пони": cup + "%D0%BF%D0%BE%D0%BD%D0%B8",
		"": "", ".": "", "..": "", "a\nb": "", "5f0c\r\nX-Evil: 1": "",
	} {
		check("the id "+string(id), want, errorOf(c.Tournaments.Get(t.Context(), id)))
	}
	for path, want := range map[string]string{
		"api/v9/things": "/api/v9/things", "/a%2Fb/c%20d?x=1&y=%2F": "/a%2Fb/c%20d?x=1&y=%2F", "/": "/",
		"": "", "https://elsewhere.test/": "", "//elsewhere.test/": "", "/a/%2e%2E/b": "", "/a#b": "", "/a\nb": "",
	} {
		check("the path "+path, want, c.Do(t.Context(), "GET", path, nil, nil))
	}
}

// wrapped encodes itself, and so a key in it as what is printed.
type wrapped struct{ key horseracing.UserKey }

func (w wrapped) MarshalJSON() ([]byte, error) { return json.Marshal([]any{w.key}) }

func TestDoChecksItsArguments(t *testing.T) {
	var unset *int
	c, mock := double.Mocked(t, httpmock.NewStringResponder(200, "1"))
	for _, test := range []struct {
		method    string
		body, out any
	}{{"", nil, nil}, {"get", nil, nil}, {"GET\r\nX: y", nil, nil}, {"GET", nil, 1}, {"GET", nil, unset}, {"GET", nil, struct{}{}}, {"GET", func() {}, nil}, {"POST", wrapped{"user-key-1"}, nil}} {
		double.Error(t, fmt.Sprintf("%+v", test), horseracing.ErrInvalidArgument, "", c.Do(t.Context(), test.method, "/x", test.body, test.out))
	}
	double.Equal(t, "requests", 0, mock.GetTotalCallCount())
}

func TestDoLeavesWhatItCannotReadUnchanged(t *testing.T) {
	for _, body := range []string{"", "[5", "<html>", "{}"} {
		list := []int{1}
		err := responding(t, body, double.NoRetries()).Do(t.Context(), "GET", "/x", nil, &list)
		if _, isDamaged := errors.AsType[*horseracing.DecodeError](err); !isDamaged || !slices.Equal(list, []int{1}) {
			t.Errorf("%q: %v, %v", body, list, err)
		}
	}
}

func TestCloseEndsTheClientsIdleConnections(t *testing.T) {
	closed := make(chan bool, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- true
		}
	}
	server.Start()
	defer server.Close()
	c := double.Connect(t, server.URL, nil)
	for range 2 { // a closed client can be used
		double.Error(t, "a call", nil, "", double.OpenRaces(t.Context(), c))
		c.Close()
		<-closed // or the test does not end
	}
}

func TestRedirectIsNeverFollowed(t *testing.T) {
	do := func(ctx context.Context, c *horseracing.Client) error { return c.Do(ctx, "PUT", "/x", nil, nil) }
	for _, status := range []int{302, 303, 307, 308} {
		for i, call := range []func(context.Context, *horseracing.Client) error{double.OpenRaces, double.Owned, double.Register, do} {
			var sent []double.Sent
			c := double.Connect(t, double.Service, &http.Client{
				Transport:     double.TripFunc(double.Noting(&sent, double.Respond(status, "", "Location: https://elsewhere.test/path?key="+double.AppKey))),
				CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("CheckRedirect was called"); return nil },
			}, double.Briefly)
			err, isRead := call(t.Context(), c), i < 2
			api, ok := errors.AsType[*horseracing.APIError](err)
			if !ok || api.StatusCode != status || !errors.Is(err, horseracing.ErrRedirect) || errors.Is(err, horseracing.ErrOutcomeUnknown) == isRead {
				t.Errorf("call %d, status %d: got %v", i, status, err)
			}
			double.Equal(t, "requests", 1, len(sent))
		}
	}
}
