package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/horseracing-go/horseracing"
)

func TestTokensIsExactAndGrouped(t *testing.T) {
	for units, want := range map[string]string{
		"0":                         "0",
		"1":                         "0.000000000000000001",
		"1000000000000000000":       "1",
		"5000000000000000001":       "5.000000000000000001",
		"1000000000000000000000":    "1,000",
		"1234567500000000000000000": "1,234,567.5",
		"-123456000000000000000000": "-123,456",
	} {
		amount, err := horseracing.ParseUnits(units, 0)
		if got := Tokens(amount); err != nil || got != want {
			t.Errorf("%s units: %q, %v; want %q", units, got, err, want)
		}
	}
}

func TestAFileIsReplacedOnlyByAWholeOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, test := range []struct {
		text string
		err  error
		want string
	}{{"old", nil, "old"}, {"half", errors.New("the disk is full"), "old"}, {"new", nil, "new"}} {
		err := WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, test.text)
			return test.err
		})
		text, _ := os.ReadFile(path)
		if !errors.Is(err, test.err) || string(text) != test.want {
			t.Errorf("after %s: %v; the file holds %q", test.text, err, text)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestExitReportsTheErrorInOneSentence(t *testing.T) {
	refused := &horseracing.TransportError{Method: "GET", Route: "/r", Attempts: 4, Err: errors.New("connection refused")}
	for _, test := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"no error", nil, 0, ""},
		{"an error", errors.New("no open race"), 1, "x: no open race\n"},
		{"a wrong key", &horseracing.APIError{StatusCode: 401}, 1, "x: the service does not accept the API key: check HORSERACING_API_KEY\n"},
		{"a host that is down", refused, 1, "x: the service does not respond: check HORSERACING_BASE_URL (connection refused)\n"},
		{"a limiter that fails", &horseracing.TransportError{Method: "GET", Route: "/r", Err: errors.New("waiting for the limiter: no")}, 1, "x: GET /r: waiting for the limiter: no\n"},
		{"a mistake on the command line", UsageError("-n must be at least 1"), 2, "x: -n must be at least 1 (see x -h)\n"},
		{"Ctrl-C", fmt.Errorf("reading: %w", context.Canceled), 130, "x: stopped\n"},
		{"-h", flag.ErrHelp, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if status := Exit("x", test.err, &out); status != test.status || out.String() != test.text {
				t.Errorf("status %d, %q; want %d, %q", status, out.String(), test.status, test.text)
			}
		})
	}
}
