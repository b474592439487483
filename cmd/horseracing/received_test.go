package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/internal/double"
)

const digits = "17487745" // of a key, and of a start

// newOdd returns the environment of a service whose only entry is a race, a horse and a tournament in one.
func newOdd(t *testing.T, entry string) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry := entry
		var query struct {
			From int64 `json:"start_time_from"`
		}
		if _ = json.NewDecoder(r.Body).Decode(&query); strings.HasSuffix(r.URL.Path, "results") && query.From != 0 && query.From <= 1748774562859 {
			entry = ""
		}
		_, _ = io.WriteString(w, "["+entry+"]")
	}))
	t.Cleanup(server.Close)
	return variables(server.URL, digits, "the-users-key")
}

func TestJSONIsWhatWasReceived(t *testing.T) {
	t.Parallel()
	const (
		entry = "{ \"weather\": \"a\\/b\u202e\", \"wind\":\"\xff\", \"_id\":\"t7\",\"main_race_id\":7.0,\"number\":7,\"start_time\":1748774562859,\n\"entry_fee\":1e+21," +
			`"prizes":[1E21,0.50,1e-2],"min_level":0,"info":{"surface":null},"participants":[{"number":5,"total":0,"lane":0}],"final_order":[0],"it is the-users-key":"17487745, 1e21"}`
		want = `{"weather":"a\/b` + "\u202e" + `","wind":"` + "\ufffd" + `","_id":"t7","main_race_id":7.0,"number":7,"start_time":1748774562859,"entry_fee":1000000000000000000000,` +
			`"prizes":[1000000000000000000000,0.50,1e-2],"min_level":0,"info":{"surface":null},"participants":[{"number":5,"total":0,"lane":0}],"final_order":[0],"it is [redacted]":"[redacted], 1e21"}`
	)
	file := filepath.Join(t.TempDir(), "file")
	for _, args := range []string{"open", "race 7", "results", "results --follow --since 2025-01-01 -n 1", "results --since 2025-01-01 --cursor " + file + ".position",
		"horse 7", "owned", "tournaments", "tournaments t7", "tournaments --finished"} {
		double.Equal(t, args, result{stdout: want + "\n"}, run(t, newOdd(t, entry), strings.Fields(args)...))
	}
	for range 2 { // it is not added twice
		run(t, newOdd(t, entry), "results", "--since", "2025-01-01", "-o", file)
	}
	double.Equal(t, "-o", []string{want + "\n"}, linesOf(t, file))
}

func TestAnEntryBesideUnreadableOnesIsWhatWasReceived(t *testing.T) {
	t.Parallel()
	const entries = `{"main_race_id":6,"entry_fee":[]},{"main_race_id":7,"start_time":1748774562859,"snow":1},null,{"main_race_id":7,"start_time":1748774562859,"snow":2}`
	const want = `{"main_race_id":7,"start_time":1748774562859,"snow":1}` + "\n" + `{"main_race_id":7,"start_time":1748774562859,"snow":2}` + "\n"
	double.Equal(t, "what is printed", want, run(t, newOdd(t, entries), "open").stdout)
}
