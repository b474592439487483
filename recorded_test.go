package horseracing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

var recorded = flag.String("recorded", "testdata/recorded", "check the recordings in this `directory`")

// Files that horseracingtest.Record wrote become tests by being put there. Of a
// directory elsewhere:
//
//	go test . -run TestRecordings -recorded DIR
func TestRecordingsDecodeWithoutDrift(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*recorded, "*.json"))
	if err != nil || len(files) == 0 {
		t.Errorf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		for _, finding := range checkRecording(t, read(t, file)) {
			t.Errorf("%s: %s", file, finding)
		}
	}
}

// checkRecording decodes the response of a recorded exchange with the type of
// its operation, and returns what does not fit.
func checkRecording(t *testing.T, text string) (findings []string) {
	var exchange struct {
		Request struct {
			Method, Path string
			Body         json.RawMessage
		}
		Response struct{ Status int }
	}
	if err := json.Unmarshal([]byte(text), &exchange); err != nil {
		return []string{err.Error()}
	}
	s := horseracingtest.NewServer(horseracingtest.WithRecording(fstest.MapFS{"one.json": {Data: []byte(text)}}))
	defer s.Close()
	drift := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) {
		findings = append(findings, fmt.Sprintf("drift: %s at %s", d.Kind, d.Path))
	})
	send := &sendRecorded{next: s.HTTPClient().Transport, path: exchange.Request.Path, body: exchange.Request.Body}
	client := s.Client(drift, horseracing.WithHTTPClient(&http.Client{Transport: send}), double.NoRetries())
	call := callOf(exchange.Request.Method + " " + exchange.Request.Path)
	if call == nil {
		return append(findings, "the SDK has no operation for "+exchange.Request.Method+" "+exchange.Request.Path)
	}
	_, err := call(t.Context(), client)
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
// user key that has, and then lists what the response shows.
type sendRecorded struct {
	next    http.RoundTripper
	path    string
	body    []byte
	listing []byte
}

func (s *sendRecorded) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.listing != nil {
		return double.Listing(string(s.listing))(r)
	}
	if r.Body != nil {
		r.Body.Close()
	}
	sent, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.Scheme+"://"+r.URL.Host+s.path, bytes.NewReader(s.body))
	if err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	s.listing, err = io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(s.listing))
	return resp, err
}

// callOf returns the call of the SDK that decodes the response to a request: nil, if there
// is none.
func callOf(request string) func(context.Context, *horseracing.Client) (any, error) {
	request, _, _ = strings.Cut(request, "?")
	id := path.Base(request)
	number, _ := strconv.ParseInt(id, 10, 64)
	number = max(number, 1) // of an id that is not a number
	ids := callIDs{Horse: horseracing.HorseNumber(number), Race: horseracing.RaceID(number), Tournament: horseracing.TournamentID(id), UserKey: "any"}
	anyID := strings.NewReplacer(fmt.Sprint(testdataIDs.Horse), "*", fmt.Sprint(testdataIDs.Race), "*", string(testdataIDs.Tournament), "*")
	var call func(context.Context, *horseracing.Client) (any, error)
	for _, op := range operations() {
		pattern := op.Method + " " + anyID.Replace(op.Path)
		if matches, _ := path.Match(pattern, request); !matches || call != nil && pattern != request {
			continue
		}
		call = func(ctx context.Context, c *horseracing.Client) (any, error) { return op.Call(ctx, c, ids) }
		if op.Further != nil {
			call = func(ctx context.Context, c *horseracing.Client) (any, error) { return op.Further(ctx, c, 10_000) } // all that is on the page
		}
	}
	return call
}

func TestARecordingThatDriftsIsFound(t *testing.T) {
	horse := read(t, "testdata/recorded/GET-api-v1-horses-311-0001.json")
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"level"`, `"lvl"`, "drift: unknown_field at lvl"},
		{`"level": `, `"level": "x" + `, "invalid"},
		{`"status": 200`, `"status": 404`, ""},
		{`/api/v1/horses/311"`, `/api/v3/horses/31111"`, "the SDK has no operation for GET /api/v3/horses/31111"},
	} {
		found := strings.Join(checkRecording(t, strings.Replace(horse, test.old, test.new, 1)), "; ")
		if !strings.Contains(found, test.want) || test.want == "" && found != "" {
			t.Errorf("%s: %q, want %q", test.new, found, test.want)
		}
	}
}

// The fake responds to each operation without drift, and the same when it is replayed, to
// another user.
func TestOperationsReplayAsTheyWereRecorded(t *testing.T) {
	original, dir := horseracingtest.NewServer(), filepath.Join(t.TempDir(), "a", "b")
	defer original.Close()
	soon := horseracing.NewTimestamp(original.Now().Add(time.Hour))
	original.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: soon, RegistrationDeadline: soon})
	original.AddTournaments(horseracing.Tournament{ID: "cup", StartTime: soon})
	drift := horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) { t.Errorf("%+v", d) })
	all := func(c *horseracing.Client, key horseracing.UserKey) map[string]any {
		values := map[string]any{}
		for _, op := range operations() {
			value, err := op.Call(t.Context(), c, callIDs{Horse: 13, Race: 7, Tournament: "cup", UserKey: key})
			if err == nil && op.Further != nil {
				values[op.Name+", further"], err = op.Further(t.Context(), c, 35)
			}
			if values[op.Name] = value; err != nil {
				t.Errorf("%s: %v", op.Name, err)
			}
		}
		return values
	}
	want := all(original.Client(drift, horseracing.WithTransportWrapper(horseracingtest.Record(dir))), original.UserKey(2))
	replay := horseracingtest.NewServer(horseracingtest.WithSeed(99), horseracingtest.WithRecording(os.DirFS(dir)))
	defer replay.Close()
	double.Equal(t, "what is replayed", want, all(replay.Client(), replay.UserKey(0)))
}
