package reading_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The bodies are as long as the default limit allows, and as dense as a shape can be:
// some are refused, and what is decoded of the others is held.
func TestWhatIsDecodedTakesAtMostSixteenTimesTheLimit(t *testing.T) {
	double.UnlessShort(t)
	const limit = 8 << 20
	filled := func(before, element, after string) string {
		return before + strings.Repeat(element+",", (limit-len(before)-len(element)-len(after))/(len(element)+1)) + element + after
	}
	races := func(ctx context.Context, c *horseracing.Client) (any, error) { return c.Races.Open(ctx) }
	cups := func(ctx context.Context, c *horseracing.Client) (any, error) { return c.Tournaments.Open(ctx) }
	horses := func(ctx context.Context, c *horseracing.Client) (any, error) { return c.Horses.Owned(ctx, "owner") }
	missions := func(ctx context.Context, c *horseracing.Client) (any, error) { return c.Horses.Missions(ctx, 7) }
	for name, shape := range map[string]struct {
		body string
		read func(context.Context, *horseracing.Client) (any, error)
	}{
		"entries with an id":      {filled("[", `{"main_race_id":1}`, "]"), races},
		"entries of 64 bytes":     {filled("[", `{"main_race_id":1,"tier":"`+strings.Repeat("x", 35)+`"}`, "]"), races},
		"tournaments of 64 bytes": {filled("[", `{"_id":"x","name":"`+strings.Repeat("x", 42)+`"}`, "]"), cups},
		"prizes":                  {filled(`[{"main_race_id":1,"prizes":[`, "0", "]}]"), races},
		"prizes of four bytes":    {filled(`[{"main_race_id":1,"prizes":[`, "100", "]}]"), races},
		"an order":                {filled(`[{"main_race_id":1,"final_order":[`, "0", "]}]"), races},
		"participants":            {filled(`[{"main_race_id":1,"participants":[`, `{"number":12345}`, "]}]"), races},
		"stages":                  {filled(`[{"_id":"x","stages":[`, "{}", "]}]"), cups},
		"stages of 16 bytes":      {filled(`[{"_id":"x","stages":[`, `{"status":1234}`, "]}]"), cups},
		"additional prizes":       {filled(`[{"_id":"x","additional_prizes":[`, `{"additional_sugar":1}`, "]}]"), cups},
		"traits":                  {filled(`[{"number":7,"appearance":[`, `{"value":"brown"}`, "]}]"), horses},
		"progress":                {filled(`{"number":7,"missions":[{"progress":[`, "0", "]}]}"), missions},
		"progress of four bytes":  {filled(`{"number":7,"missions":[{"progress":[`, "100", "]}]}"), missions},
		"missions":                {filled(`{"number":7,"missions":[`, `{"count":12345}`, "]}"), missions},
		"unreadable entries":      {filled("[", `{"main_race_id":1,"length":"x"}`, "]"), races},
	} {
		t.Run(name, func(t *testing.T) {
			if len(shape.body) > limit || len(shape.body) < limit-100 {
				t.Fatalf("a body of %d bytes", len(shape.body))
			}
			c := double.Play(double.Respond(200, shape.body)).Client(t)
			before := double.LiveHeap()
			value, err := shape.read(t.Context(), c)
			held := int64(double.LiveHeap()-before) >> 20
			if _, isDecode := errors.AsType[*horseracing.DecodeError](err); err != nil && !isDecode {
				t.Fatal(err)
			}
			if held > 16*limit>>20 {
				t.Errorf("%d MiB are held", held)
			}
			t.Logf("%d MiB, %.100v", held, err)
			runtime.KeepAlive(value)
		})
	}
}

// What a hostile response may cost. Everything is refused, or read, in a moment.
func TestHostileResponsesAreReadInBoundedMemory(t *testing.T) {
	double.UnlessShort(t)
	nested := strings.Repeat("[", 2<<20)
	for name, body := range map[string]string{
		"nested arrays":        nested,
		"nested objects":       strings.Repeat(`{"a":`, 400_000),
		"nested in an unknown": `[{"unknown":` + nested + `}]`,
		"nested errors":        strings.Repeat(`{"error":`, 200_000) + "1" + strings.Repeat("}", 200_000),
		"a list of errors":     `{"error":[` + strings.Repeat("0,", 1<<20) + `0]}`,
		"a long number":        `[{"entry_fee":` + strings.Repeat("9", 2<<20) + `}]`,
		"a huge exponent":      `[{"entry_fee":1e1000000000}]`,
		"a long string":        `[{"tier":"` + strings.Repeat("x", 2<<20) + `"}]`,
		"many members":         `[{` + manyMembers(200_000) + `}]`,
		"spaces":               strings.Repeat(" ", 7<<20) + "[]",
		"empty entries":        "[" + strings.Repeat("{},", 2<<20) + "{}]",
		"null entries":         "[" + strings.Repeat("null,", 1<<20) + "null]",
	} {
		for status := range map[int]bool{200: true, 400: true} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				for _, call := range []func(context.Context, *horseracing.Client) error{double.OpenRaces, double.OneHorse, double.OneCup, double.Missions, double.Register} {
					c := double.Play(double.Respond(status, body)).Client(t)
					var err error
					memory := grown(func() { err = call(t.Context(), c) })
					var api *horseracing.APIError
					if status == 400 && !errors.As(err, &api) {
						t.Errorf("a refusal became %v", err)
					}
					if memory > 20*uint64(len(body))+(64<<20) {
						t.Errorf("%d KiB took %d MiB", len(body)>>10, memory>>20)
					}
				}
				var decode *horseracing.DecodeError
				var api *horseracing.APIError
				err := double.OpenRaces(t.Context(), double.Play(double.Respond(status, body)).Client(t))
				switch harmless := name == "spaces" || name == "a long string" || name == "many members"; {
				case status != 200:
				case harmless && err != nil:
					t.Errorf("long, but without harm: %.200v", err)
				case !harmless && !errors.As(err, &decode) && !errors.As(err, &api):
					t.Errorf("taken for a response: %.200v", err)
				}
			})
		}
	}
}

// grown returns how much memory f took on its way.
func grown(f func()) (bytes uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAGzipBombIsCappedAfterDecompression(t *testing.T) {
	double.UnlessShort(t)
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	z.Write([]byte("["))
	for range 256 {
		z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	z.Close()
	for _, status := range []int{200, 500} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			w.Write(bomb.Bytes())
		})
		var err error
		memory := grown(func() { _, err = c.Races.Open(t.Context()) })
		if want := map[int]error{200: horseracing.ErrResponseTooLarge, 500: horseracing.ErrServer}[status]; !errors.Is(err, want) {
			t.Errorf("%d: %v", status, err)
		}
		if memory > 300<<20 { // under the race detector a buffer takes twice as much to grow
			t.Errorf("%d: %d bytes became %d MiB", status, bomb.Len(), memory>>20)
		}
	}
}
