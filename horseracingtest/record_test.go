package horseracingtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// recordingClient is an HTTP client of the fake that records.
func recordingClient(s *horseracingtest.Server, dir string) *http.Client {
	return &http.Client{Transport: horseracingtest.Record(dir)(s.HTTPClient().Transport)}
}

func TestNoKeyAndNoCookieIsInARecording(t *testing.T) {
	const apiKey, userKey, cookie = "api/KEY+0123456789", `user "KEY" äöü`, "c00kie-0123456789"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "set-" + cookie, MaxAge: 31536000})
		w.Header().Set("X-Debug-Request", "key="+r.Header.Get("X-Api-Key"))
		w.Header().Set("X-Auth-Token", "something else")
		if r.URL.Path == "/late" {
			io.WriteString(w, "<p>"+userKey+" api/KEY+0123456789 api%2FKEY%2B0123456789</p>")
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"you sent": []string{r.Header.Get("X-Api-Key"), userKey, r.Header.Get("Cookie")}, "session": "set-" + cookie, "user_key": "another user's key", "age": 31536000})
	}))
	defer echo.Close()
	dir := t.TempDir()
	client := &http.Client{Transport: horseracingtest.Record(dir)(http.DefaultTransport)}
	sent, _ := json.Marshal(map[string]string{"user_key": userKey})
	for _, test := range [][2]string{{"/api?x=api%2FKEY%2B0123456789", string(sent)}, {"/late", ""}} { // the second shows a key of the first
		r, err := http.NewRequestWithContext(t.Context(), "POST", echo.URL+test[0], strings.NewReader(test[1]))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-api-key", apiKey)
		r.Header.Set("Cookie", "session="+cookie)
		r.Header.Set("Authorization", "Bearer "+apiKey)
		if response, body, err := send(client, r); err != nil || !strings.Contains(body, "KEY") || response.Header.Get("Set-Cookie") == "" {
			t.Errorf("the caller's response was redacted: %s", body)
		}
	}
	files := recordedFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	for name, text := range files {
		for _, secret := range []string{"KEY", "c00kie", "0123456789", "something else", "another user", "Authorization"} {
			if strings.Contains(text, secret) || strings.Contains(name, secret) {
				t.Errorf("%s shows %s:\n%s", name, secret, text)
			}
		}
		if !strings.Contains(text, "[redacted]") || !strings.Contains(text, `"Set-Cookie"`) || !strings.Contains(text, `age\":31536000`) && strings.Contains(name, "-api-") {
			t.Errorf("%s does not show what was redacted, and what is no secret:\n%s", name, text)
		}
	}
}

func TestAKeyInAQueryIsInNoRecordingAndReplaysForAnyKey(t *testing.T) {
	const one, other = `first "KEY" & 0123456789`, "second-KEY"
	dir := t.TempDir()
	original := start(t)
	original.Handle("GET /x", func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: `{"you":"` + strings.ReplaceAll(one, `"`, `\"`) + `"}`}, true
	})
	request := newRequest(t, original, "GET", "/x?a=1&user_key="+url.QueryEscape(one)+"&b=2", "")
	if _, _, err := send(recordingClient(original, dir), request); err != nil {
		t.Fatal(err)
	}
	for name, text := range recordedFiles(t, dir) {
		if strings.Contains(name+text, "KEY") || strings.Contains(name+text, "0123") || !strings.Contains(text, "/x?a=1&user_key=[redacted]&b=2") {
			t.Errorf("%s:\n%s", name, text)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v: %v", info.Mode(), err)
		}
	}
	replay := start(t, horseracingtest.WithRecording(os.DirFS(dir)))
	for query, want := range map[string]int{"/x?a=1&user_key=" + other + "&b=2": 200, "/x?user_key=" + other: 501} {
		if response, body := do(t, replay, newRequest(t, replay, "GET", query, "")); response.StatusCode != want || strings.Contains(body, other) {
			t.Errorf("%s: %s: %s", query, response.Status, body)
		}
	}
}

func TestANewRecordingReplacesNoFile(t *testing.T) {
	s, dir := start(t), t.TempDir()
	for range 2 {
		if _, _, err := send(recordingClient(s, dir), newRequest(t, s, "GET", openPath, "")); err != nil {
			t.Fatal(err)
		}
	}
	if files := recordedFiles(t, dir); len(files) != 2 {
		t.Errorf("%d files", len(files))
	}
}

func TestWithoutADirectoryNothingIsSent(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	client := s.Client(horseracing.WithHTTPClient(recordingClient(s, filepath.Join(file, "dir"))), horseracing.WithRetry(horseracing.Retry{Max: -1}))
	if _, err := client.Races.Open(t.Context()); err == nil || s.RequestCount() != 0 {
		t.Errorf("%d requests, %v", s.RequestCount(), err)
	}
}

func TestAReplayRefusesWhatWasNotRecorded(t *testing.T) {
	original, dir := start(t), t.TempDir()
	client := original.Client(horseracing.WithHTTPClient(recordingClient(original, dir)))
	if _, err := client.Races.Results(horseracing.ResultsQuery{Tier: 2}).Take(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s := start(t, horseracingtest.WithRecording(os.DirFS(dir)))
	for body, want := range map[string]string{
		`{"tier":2}`:  "",
		` {"tier":2}`: "",
		`{"tier":3}`:  `but not with the body {\"tier\":3}; recorded are: {\"tier\":2}`,
		``:            `but not with the body none; recorded are: {\"tier\":2}`,
	} {
		response, text := do(t, s, newRequest(t, s, "GET", resultsPath, body))
		if want == "" && response.StatusCode != 200 || want != "" && (response.StatusCode != 501 || !strings.Contains(text, want)) {
			t.Errorf("body %s: %d %s", body, response.StatusCode, text)
		}
	}
	var refused *horseracing.APIError
	if _, err := s.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})).Horses.Get(t.Context(), 311); !errors.As(err, &refused) || refused.StatusCode != 501 || refused.Attempts != 1 || !strings.Contains(err.Error(), "the recording has no GET /api/v1/horses/311") {
		t.Errorf("%v", err)
	}
}

func TestRepeatedRequestsGetTheirResponsesInOrder(t *testing.T) {
	original, dir := start(t), t.TempDir()
	client := recordingClient(original, dir)
	for i := range 12 {
		original.Handle(openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			return horseracingtest.Response{Body: itoa(i)}, true
		})
		if _, _, err := send(client, newRequest(t, original, "GET", openPath, "")); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, horseracingtest.WithRecording(os.DirFS(dir)))
	for i := range 14 {
		if _, got := do(t, s, newRequest(t, s, "GET", openPath, "")); got != itoa(min(i, 11)) {
			t.Errorf("response %d is %s", i, got)
		}
	}
}

func TestACutResponseIsReplayedAsCut(t *testing.T) {
	original, dir := start(t), t.TempDir()
	original.Inject(horseracingtest.Fault{CutBody: 100})
	response, want, err := send(recordingClient(original, dir), newRequest(t, original, "GET", openPath, ""))
	if response == nil || err == nil {
		t.Fatal("it was not cut")
	}
	s := start(t, horseracingtest.WithRecording(os.DirFS(dir)))
	if _, got, err := attempt(t, s, "GET", openPath, ""); err == nil || got != want {
		t.Errorf("%v: %s, want %s", err, got, want)
	}
}

func TestARecordingThatCannotBeReadIsAnErrorThatNamesTheFile(t *testing.T) {
	for text, words := range map[string]string{
		"":                             "unexpected end",
		`{"request":{"method":"GET"}}`: "no recorded exchange",
		`{"request":{"method":"GET","path":"/"},"response":{"status":42}}`: "no recorded exchange",
		`[]`: "cannot unmarshal",
	} {
		_, err := horseracingtest.Start(horseracingtest.WithRecording(fstest.MapFS{"sub/a.json": {Data: []byte(text)}, "README.md": {}}))
		if err == nil || !strings.Contains(err.Error(), "sub/a.json") || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, files := range map[string]fs.FS{"no file": fstest.MapFS{"README.md": {}}, "no directory": os.DirFS(filepath.Join(t.TempDir(), "missing"))} {
		if _, err := horseracingtest.Start(horseracingtest.WithRecording(files)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func recordedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}
