package reading_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// reads returns every operation that reads, by name: what it decoded, or an
// error. A paged listing is read beyond a page.
func reads() map[string]func(context.Context, *horseracing.Client) (any, error) {
	all := map[string]func(context.Context, *horseracing.Client) (any, error){}
	for _, op := range operations() {
		switch {
		case op.Method != http.MethodGet:
		case op.Further != nil:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) { return op.Further(ctx, c, 20) }
		default:
			all[op.Name] = func(ctx context.Context, c *horseracing.Client) (any, error) {
				return op.Call(ctx, c, testdataIDs)
			}
		}
	}
	return all
}

// FuzzResponses gives the same bytes to every operation: each reads them or returns
// why not, with few requests; what was read can be written and read again.
func FuzzResponses(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", "[null]", `{"error":"x"}`, `{"errors":[{"detail":"x"}]}`, "<html>", `[{"main_race_id":1,"start_time":1700000000000,"entry_fee":1e+21}]`,
		`[{"_id":"a","start_time":1700000000000,"additional_prizes":[{"additional_gold":1,"additional_treasury_gold":2.5}]}]`,
		`{"number":7,"missions":[{"type":"daily","progress":[1,{}]}]}`, `{"daily":[{"xp_base":-1.5,"place_min":1}]}`, "[{\"name\":\"\xff\"}]",
		strings.Repeat("[", 10_001), `[{"entry_fee":1e100}]`, `[{"a":1,"a":2}]`,
	} {
		f.Add([]byte(seed))
	}
	files, _ := filepath.Glob("../../testdata/*.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		requests := 0
		c := responding(t, string(body), horseracing.WithTransportWrapper(counting(&requests)), horseracing.WithRetry(horseracing.Retry{Max: -1}), horseracing.WithMaxResponseBytes(1<<20),
			horseracing.WithDriftHandler(func(context.Context, horseracing.Drift) {}))
		for name, read := range reads() {
			requests = 0
			value, err := read(t.Context(), c)
			if requests > 30 {
				t.Errorf("%s: %d requests", name, requests)
			}
			if err != nil {
				double.CheckError(t, name, err)
				if reflect.ValueOf(value).Kind() != reflect.Slice { // of a list, what could be read stands beside
					continue
				}
			}
			written, err := json.Marshal(value)
			again := reflect.New(reflect.TypeOf(value))
			if err == nil {
				err = json.Unmarshal(written, again.Interface())
			}
			if err != nil {
				t.Errorf("%s: cannot be written and read again: %v", name, err)
			}
			if rewritten, _ := json.Marshal(again.Interface()); string(rewritten) != string(written) {
				t.Errorf("%s: written as %s, read again and written as %s", name, written, rewritten)
			}
		}
		receipt, err := c.Races.Register(t.Context(), horseracing.Registration{Horse: 1, Race: 2, UserKey: "user key"})
		if err != nil {
			double.CheckError(t, "register", err)
		} else if len(receipt.Body) > 0 && !json.Valid(receipt.Body) {
			t.Errorf("register: took %q", receipt.Body)
		}
	})
}

// counting counts the requests that pass.
func counting(requests *int) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return double.TripFunc(func(req *http.Request) (*http.Response, error) {
			*requests++
			return next.RoundTrip(req)
		})
	}
}
