package horseracingtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

var recorded = flag.String("recorded", "../testdata/recorded", "check the recordings in this `directory`")

// Files that horseracingtest.Record wrote become tests by being put there. Of a
// directory elsewhere:
//
//	go test ./horseracingtest -run TestRecordings -recorded DIR
func TestRecordingsDecodeWithoutDrift(t *testing.T) {
	files := os.DirFS(*recorded)
	names := 0
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".json" {
			return err
		}
		names++
		t.Run(name, func(t *testing.T) {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range checkRecording(t, text) {
				t.Error(finding)
			}
		})
		return nil
	})
	if err != nil || names == 0 {
		t.Errorf("%d files: %v", names, err)
	}
}

// checkRecording decodes the response of a recorded exchange with the type of
// its operation, and returns what does not fit.
func checkRecording(t *testing.T, text []byte) (findings []string) {
	var exchange struct {
		Request struct {
			Method, Path string
			Body         json.RawMessage
		}
		Response struct{ Status int }
	}
	if err := json.Unmarshal(text, &exchange); err != nil {
		return []string{err.Error()}
	}
	s := start(t, horseracingtest.WithRecording(fstest.MapFS{"one.json": {Data: text}}))
	seen := map[horseracing.Drift]bool{}
	drift := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) {
		if !seen[d] {
			seen[d] = true
			findings = append(findings, fmt.Sprintf("drift: %s at %s", d.Kind, d.Path))
		}
	})
	send := &sendRecorded{next: s.HTTPClient().Transport, path: exchange.Request.Path, body: exchange.Request.Body}
	client := s.Client(drift, horseracing.WithHTTPClient(&http.Client{Transport: send}), horseracing.WithRetry(horseracing.Retry{Max: -1}))
	call := callOf(t.Context(), client, exchange.Request.Method+" "+exchange.Request.Path)
	if call == nil {
		return append(findings, "the SDK has no operation for "+exchange.Request.Method+" "+exchange.Request.Path)
	}
	err := call()
	var refused *horseracing.APIError
	switch ok := exchange.Response.Status/100 == 2; {
	case ok && err != nil && !errors.Is(err, horseracing.ErrNotFound): // null, or an empty list
		findings = append(findings, err.Error())
	case !ok && (!errors.As(err, &refused) || refused.StatusCode != exchange.Response.Status) && !errors.Is(err, horseracing.ErrRedirect):
		findings = append(findings, fmt.Sprintf("status %d came as %v", exchange.Response.Status, err))
	}
	return findings
}

// sendRecorded sends the recorded request in place of the first one, whatever
// user key that has, and returns an empty page behind it.
type sendRecorded struct {
	next http.RoundTripper
	path string
	body []byte
	sent bool
}

func (s *sendRecorded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	if s.sent {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	}
	s.sent = true
	sent, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.Scheme+"://"+r.URL.Host+s.path, bytes.NewReader(s.body))
	if err != nil {
		return nil, err
	}
	return s.next.RoundTrip(sent)
}

// callOf returns the call of the SDK that decodes the response to a request: nil, if there
// is none.
func callOf(ctx context.Context, c *horseracing.Client, request string) func() error {
	const key, page = horseracing.UserKey("any"), 10_000 // all that is on it
	query := horseracing.ResultsQuery{Before: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	var offset horseracing.OffsetQuery
	request, _, _ = strings.Cut(request, "?")
	id := path.Base(request)
	number, _ := strconv.ParseInt(id, 10, 64)
	number = max(number, 1) // of an id that is not a number
	for _, operation := range []struct {
		pattern string
		call    func() error
	}{
		{"GET /api/v1/horses/user", func() error { return errOf(c.Horses.Owned(ctx, key)) }},
		{"GET /api/v1/horses/*", func() error { return errOf(c.Horses.Get(ctx, horseracing.HorseNumber(number))) }},
		{"GET /api/v1/horses/missions/*", func() error { return errOf(c.Horses.Missions(ctx, horseracing.HorseNumber(number))) }},
		{"GET /api/v1/horses/breeding/open", func() error { return errOf(c.Horses.OpenForBreeding(ctx)) }},
		{"GET /api/v2/races/results", func() error { return errOf(c.Races.Results(query).Take(ctx, page)) }},
		{"GET /api/v1/races/results", func() error { return errOf(c.Races.ResultsV1(offset).Take(ctx, page)) }},
		{"GET /api/v1/races/open", func() error { return errOf(c.Races.Open(ctx)) }},
		{"GET /api/v1/races/*", func() error { return errOf(c.Races.Get(ctx, horseracing.RaceID(number))) }},
		{"GET /api/v1/tournaments/results", func() error { return errOf(c.Tournaments.Results(query).Take(ctx, page)) }},
		{"GET /api/v1/tournaments/open", func() error { return errOf(c.Tournaments.Open(ctx)) }},
		{"GET /api/v1/tournaments/*", func() error { return errOf(c.Tournaments.Get(ctx, horseracing.TournamentID(id))) }},
		{"GET /api/v1/missions", func() error { return errOf(c.Missions.Catalogue(ctx)) }},
		{"POST /api/v1/races/register", func() error {
			return errOf(c.Races.Register(ctx, horseracing.Registration{Horse: 1, Race: 1, UserKey: key}))
		}},
	} {
		if matches, _ := path.Match(operation.pattern, request); matches {
			return operation.call
		}
	}
	return nil
}

func errOf[T any](_ T, err error) error { return err }

func TestARecordingThatDriftsIsFound(t *testing.T) {
	s, dir := start(t), t.TempDir()
	if _, _, err := send(recordingClient(s, dir), newRequest(t, s, "GET", "/api/v1/horses/3", "")); err != nil {
		t.Fatal(err)
	}
	horse := recordedFiles(t, dir)["GET-api-v1-horses-3-0001.json"]
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"level"`, `"lvl"`, "drift: unknown_field at lvl"},
		{`"level": `, `"level": "x" + `, "invalid"},
		{`"status": 200`, `"status": 404`, ""},
		{`/api/v1/horses/3"`, `/api/v3/horses/3"`, "the SDK has no operation for GET /api/v3/horses/3"},
	} {
		found := strings.Join(checkRecording(t, []byte(strings.Replace(horse, test.old, test.new, 1))), "; ")
		if !strings.Contains(found, test.want) || test.want == "" && found != "" {
			t.Errorf("%s: %q, want %q", test.new, found, test.want)
		}
	}
}
