package horseracing_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestNewClientChecksTheBaseURL(t *testing.T) {
	plain := horseracing.WithPlainHTTP()
	for _, test := range []struct {
		url  string
		opt  horseracing.Option
		want string // of the request for the open races, or empty if the URL is refused
	}{
		{"https://game.test", nil, "https://game.test/api/v1/races/open"},
		{"https://game.test/base//", nil, "https://game.test/base/api/v1/races/open"},
		{"https://game.test/a%2Fb/c%20d", nil, "https://game.test/a%2Fb/c%20d/api/v1/races/open"},
		{"http://localhost:8080", nil, "http://localhost:8080/api/v1/races/open"},
		{"http://[::1]:99", nil, "http://[::1]:99/api/v1/races/open"},
		{"http://game.test", plain, "http://game.test/api/v1/races/open"},
		{"http://game.test", nil, ""},
		{"http://localhost.game.test", nil, ""},
		{"game.test", plain, ""},
		{"https:game.test", plain, ""},
		{"ftp://game.test", plain, ""},
		{"https://user:secret-word@game.test", plain, ""},
		{"https://game.test?a=secret-word", plain, ""},
		{"https://game.test/#secret-word", plain, ""},
		{"https://user:secret-word@game.test:port", plain, ""},
		{"https://ga me.test", plain, ""},
	} {
		var sent string
		c, err := horseracing.NewClient(test.url, double.AppKey, test.opt, horseracing.WithHTTPClient(&http.Client{Transport: requested(&sent, "[]")}))
		if test.want == "" {
			if c != nil || !errors.Is(err, horseracing.ErrInvalidArgument) {
				t.Errorf("%q is not refused: %v", test.url, err)
			} else if strings.Contains(err.Error(), "secret-word") || !strings.HasPrefix(err.Error(), "horseracing: NewClient: ") {
				t.Errorf("%q: %v", test.url, err)
			}
			continue
		}
		if err == nil {
			err = double.OpenRaces(t.Context(), c)
		}
		if err != nil || sent != test.want || c.BaseURL() != strings.TrimSuffix(test.want, "/api/v1/races/open") {
			t.Errorf("%q: BaseURL %s, %v; want the request %s", test.url, c.BaseURL(), err, test.want)
		}
	}
}

// One check is made of all values that people paste or read from a file.
func TestPastedValuesAreRefusedWithWhatWasFoundInThem(t *testing.T) {
	client := responding(t, "[]")
	for value, want := range map[string]string{
		"":                 "is empty",
		"%s\n":             "contains a newline",
		"%s\r\n":           "contains a newline",
		"\ufeff%s":         "contains a byte order mark",
		`"%s"`:             "is in quotes",
		"'%s'":             "is in quotes",
		"%s\u200b":         "contains the invisible character U+200B",
		"a\x00%s":          "contains the control character U+0000",
		" %s":              "begins or ends with a space",
		"%s\u00a0":         "begins or ends with a space",
		`it's a "%s" 'key`: "",
		"%s ключ":          "",
	} {
		const key = "0123456789"
		value = strings.ReplaceAll(value, "%s", key)
		_, keyErr := horseracing.NewClient(double.Service, value)
		_, userKeyErr := client.Horses.Owned(t.Context(), horseracing.UserKey(value))
		_, urlErr := horseracing.NewClient(strings.ReplaceAll(value, key, double.Service), key)
		if want == "" { // no such URL is valid
			urlErr = nil
		}
		for name, err := range map[string]error{"the API key": keyErr, "the user key": userKeyErr, "the base URL": urlErr} {
			if want == "" && err != nil || want != "" && (!errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), name+" "+want) || strings.Contains(err.Error(), key)) {
				t.Errorf("%q: %v", value, err)
			}
		}
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
		if test.want == "" && (err != nil || c == nil) || test.want != "" && (!errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q, %q: %v", test.url, test.key, err)
		}
	}
}

// requested returns a transport that stores the URL of a request, and responds with a body.
func requested(url *string, body string) http.RoundTripper {
	mock := httpmock.NewMockTransport()
	mock.RegisterNoResponder(func(req *http.Request) (*http.Response, error) {
		*url = req.URL.String()
		return httpmock.NewStringResponse(http.StatusOK, body), nil
	})
	return mock
}

// No id reaches another operation than the one it was given to.
func TestClientKeepsIDsInTheirSegment(t *testing.T) {
	for id, want := range map[horseracing.TournamentID]string{
		"5f0c":              "/api/v1/tournaments/5f0c",
		"a/b":               "/api/v1/tournaments/a%2Fb",
		"../races/open":     "/api/v1/tournaments/..%2Fraces%2Fopen",
		"a%2Fb":             "/api/v1/tournaments/a%252Fb",
		"a b;c":             "/api/v1/tournaments/a%20b%3Bc",
		"пони":              "/api/v1/tournaments/%D0%BF%D0%BE%D0%BD%D0%B8",
		"":                  "",
		".":                 "",
		"..":                "",
		"a\nb":              "",
		"5f0c\r\nX-Evil: 1": "",
	} {
		var sent string
		_, err := double.Connect(t, double.Service, &http.Client{Transport: requested(&sent, `[{"name":"Cup"}]`)}).Tournaments.Get(t.Context(), id)
		if strings.TrimPrefix(sent, double.Service) != want || errors.Is(err, horseracing.ErrInvalidArgument) != (want == "") {
			t.Errorf("%q: requested %q, want %q: %v", id, sent, want, err)
		}
	}
}

func TestDoKeepsThePathItIsGiven(t *testing.T) {
	for path, want := range map[string]string{
		"api/v9/things":           "https://game.test/base/api/v9/things",
		"/a%2Fb/c%20d?x=1&y=%2F":  "https://game.test/base/a%2Fb/c%20d?x=1&y=%2F",
		"/":                       "https://game.test/base/",
		"":                        "",
		"https://elsewhere.test/": "",
		"//elsewhere.test/":       "",
		"/a/%2e%2E/b":             "",
		"/a#b":                    "",
		"/a\nb":                   "",
	} {
		var sent string
		err := double.Connect(t, "https://game.test/base", &http.Client{Transport: requested(&sent, "{}")}).Do(t.Context(), "GET", path, nil, nil)
		if sent != want || errors.Is(err, horseracing.ErrInvalidArgument) != (want == "") {
			t.Errorf("%q: requested %q, want %q: %v", path, sent, want, err)
		}
	}
}

func TestDoChecksItsArguments(t *testing.T) {
	var unset *int
	c, mock := double.Mocked(t, httpmock.NewStringResponder(200, "1"))
	for _, test := range []struct {
		method    string
		body, out any
	}{{"", nil, nil}, {"get", nil, nil}, {"GET\r\nX: y", nil, nil}, {"GET", nil, 1}, {"GET", nil, unset}, {"GET", nil, struct{}{}}, {"GET", func() {}, nil}} {
		if err := c.Do(t.Context(), test.method, "/x", test.body, test.out); !errors.Is(err, horseracing.ErrInvalidArgument) || mock.GetTotalCallCount() != 0 {
			t.Errorf("%+v: %v", test, err)
		}
	}
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
		if err := double.OpenRaces(t.Context(), c); err != nil {
			t.Error(err)
		}
		c.Close()
		<-closed // or the test does not end
	}
}

func TestRedirectIsNeverFollowed(t *testing.T) {
	do := func(ctx context.Context, c *horseracing.Client) error { return c.Do(ctx, "PUT", "/x", nil, nil) }
	for _, status := range []int{302, 303, 307, 308} {
		for i, call := range []func(context.Context, *horseracing.Client) error{double.OpenRaces, double.Owned, double.Register, do} {
			mock := httpmock.NewMockTransport()
			mock.RegisterNoResponder(double.InTurn(double.Respond(status, "", "Location: https://elsewhere.test/path?key="+double.AppKey), httpmock.NewStringResponder(200, "[]")))
			c := double.Connect(t, double.Service, &http.Client{
				Transport:     mock,
				CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("CheckRedirect was called"); return nil },
			}, double.Briefly)
			err, isRead := call(t.Context(), c), i < 2
			api, ok := errors.AsType[*horseracing.APIError](err)
			if !ok || api.StatusCode != status || !errors.Is(err, horseracing.ErrRedirect) || errors.Is(err, horseracing.ErrOutcomeUnknown) == isRead {
				t.Errorf("call %d, status %d: got %v", i, status, err)
			}
			if n := mock.GetTotalCallCount(); n != 1 {
				t.Errorf("call %d, status %d: %d requests", i, status, n)
			}
		}
	}
}
