package reading_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/internal/double"
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
