package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestParseTokensReadsWhatTokensWrites(t *testing.T) {
	for _, test := range []struct{ text, units, written string }{
		{"0", "0", "0"},
		{"5", "5000000000000000000", "5"},
		{"0.25", "250000000000000000", "0.25"},
		{"1.500", "1500000000000000000", "1.5"},
		{"123456789012345678901234567890", "123456789012345678901234567890000000000000000000", "123456789012345678901234567890"},
	} {
		amount, err := ParseTokens(test.text)
		if err != nil || amount.String() != test.units || Tokens(amount) != test.written {
			t.Errorf("%s: %s, %s, %v; want %s, %s", test.text, amount, Tokens(amount), err, test.units, test.written)
		}
	}
	for _, text := range []string{"", "-1", "1e3", "1,5", "0.0000000000000000001"} {
		if amount, err := ParseTokens(text); err == nil {
			t.Errorf("%q was read as %s", text, amount)
		}
	}
}

func TestPriceIsAReadersWord(t *testing.T) {
	for text, want := range map[string]string{"0": "0 tokens", "1.0": "1 token", "0.1": "0.1 tokens"} {
		amount, err := ParseTokens(text)
		if got := Price(amount); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestFeeIsExactAndGrouped(t *testing.T) {
	for units, want := range map[string]string{
		"0":                         "free",
		"1":                         "0.000000000000000001",
		"1000000000000000000":       "1",
		"5000000000000000001":       "5.000000000000000001",
		"1000000000000000000000":    "1,000",
		"1234567500000000000000000": "1,234,567.5",
		"-123456000000000000000000": "-123,456",
	} {
		amount, err := horseracing.ParseDecimal(units, 0)
		if got := Fee(amount); err != nil || got != want {
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

func TestPrintableKeepsTerminalTricksOfPlayersOut(t *testing.T) {
	if got := Printable("long\x1b[31m\tname é\r\n"); got != "long[31mname é" {
		t.Errorf("got %q", got)
	}
}

func TestExitReportsTheErrorInOneSentence(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	refused := &horseracing.TransportError{Method: "GET", Route: "/r", Attempts: 4, Err: errors.New("connection refused")}
	unknown := fmt.Errorf("look before registering again: %w", horseracing.ErrOutcomeUnknown)
	for _, test := range []struct {
		name   string
		ctx    context.Context
		err    error
		status int
		text   string
	}{
		{"no error", t.Context(), nil, 0, ""},
		{"an error", t.Context(), errors.New("no open race"), 1, "x: no open race\n"},
		{"a wrong key", t.Context(), &horseracing.APIError{StatusCode: 401}, 1, "x: the service does not accept the API key: check HORSERACING_API_KEY\n"},
		{"a host that is down", t.Context(), refused, 1, "x: the service does not respond: check HORSERACING_BASE_URL (connection refused)\n"},
		{"a limiter that fails", t.Context(), &horseracing.TransportError{Method: "GET", Route: "/r", Err: errors.New("waiting for the limiter: no")}, 1, "x: GET /r: waiting for the limiter: no\n"},
		{"a mistake on the command line", t.Context(), UsageError("-n must be at least 1"), 2, "x: -n must be at least 1 (see x -h)\n"},
		{"Ctrl-C", stopped, refused, 130, "x: stopped\n"},
		{"an outcome that is unknown", t.Context(), unknown, 1, "x: look before registering again: outcome unknown\n"},
		{"the same after Ctrl-C", stopped, unknown, 130, "x: look before registering again: outcome unknown\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if status := Exit(test.ctx, "x", test.err, &out); status != test.status || out.String() != test.text {
				t.Errorf("status %d, %q; want %d, %q", status, out.String(), test.status, test.text)
			}
		})
	}
}

func TestPaceIsShownOnlyIfTheServiceSetsIt(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	client := fake.Client()
	if _, err := client.Missions.Catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := Pace(client); got != "" {
		t.Errorf("without a limit it is %q", got)
	}
	fake.SetRequestLimit(horseracingtest.RequestLimit{PerSecond: 50, Burst: 2})
	for client.Pace().PerSecond == 0 {
		if _, err := client.Missions.Catalogue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := Pace(client); !regexp.MustCompile(`^service allows about \d+(\.\d)? requests a second$`).MatchString(got) {
		t.Errorf("behind a limit it is %q", got)
	}
}
