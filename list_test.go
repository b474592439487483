package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// listCalls are the operations that return a list, each with a readable entry,
// the id of another and a member that cannot be read.
var listCalls = []struct {
	name string
	call func(context.Context, *horseracing.Client) ([]string, error) // the ids
	good string
	odd  string // entry 4711
	bad  string // the member of odd
}{
	{"open races", func(ctx context.Context, c *horseracing.Client) ([]string, error) {
		races, err := c.Races.Open(ctx)
		return idsOf(races, func(r horseracing.Race) any { return int64(r.MainRaceID) }), err
	}, `{"main_race_id":%d}`, `{"main_race_id":4711,"entry_fee":{}}`, "/entry_fee"},
	{"a user's horses", func(ctx context.Context, c *horseracing.Client) ([]string, error) {
		horses, err := c.Horses.Owned(ctx, double.UserKey)
		return idsOf(horses, func(h horseracing.Horse) any { return int(h.Number) }), err
	}, `{"number":%d}`, `{"number":4711,"level":"high"}`, "/level"},
	{"horses open for breeding", func(ctx context.Context, c *horseracing.Client) ([]string, error) {
		horses, err := c.Horses.OpenForBreeding(ctx)
		return idsOf(horses, func(l horseracing.BreedingListing) any { return int(l.Number) }), err
	}, `{"number":%d}`, `{"number":4711,"price":1e400}`, "/price"},
	{"open tournaments", func(ctx context.Context, c *horseracing.Client) ([]string, error) {
		cups, err := c.Tournaments.Open(ctx)
		return idsOf(cups, func(t horseracing.Tournament) any { return t.ID }), err
	}, `{"_id":"%d"}`, `{"_id":"4711","stages":[{},{"results":[{"number":"x"}]}]}`, "/stages/1/results/0/number"},
}

func idsOf[T any](values []T, id func(T) any) (ids []string) {
	for _, value := range values {
		ids = append(ids, fmt.Sprint(id(value)))
	}
	return ids
}

func TestListLeavesOutAnUnreadableEntryOnlyWithAHandler(t *testing.T) {
	for _, l := range listCalls {
		one, two := fmt.Sprintf(l.good, 1), fmt.Sprintf(l.good, 2)
		for _, test := range []struct {
			name, entry, id, field string
		}{
			{"a member that does not fit", l.odd, "4711", "/1" + l.bad},
			{"null", "null", "", "/1"},
			{"no documented member", `{"weather":"fine"}`, "", "/1"},
			{"no object", `["x"]`, "", "/1"},
		} {
			t.Run(l.name+": "+test.name, func(t *testing.T) {
				body := "[" + one + ", " + test.entry + " ," + two + "]"
				var skipped []error
				handler := horseracing.WithSkipHandler(func(_ context.Context, err error) { skipped = append(skipped, err) })
				ids, err := l.call(t.Context(), responding(t, body, handler))
				double.Equal(t, "the other entries", []string{"1", "2"}, ids)
				if err != nil || len(skipped) != 1 {
					t.Fatalf("error %v, skipped %v", err, skipped)
				}
				if ids, err := l.call(t.Context(), responding(t, body)); ids != nil || fmt.Sprint(err) != skipped[0].Error() {
					t.Errorf("without a handler: %v, %v", ids, err)
				}
				d, ok := errors.AsType[*horseracing.DecodeError](skipped[0])
				if !ok {
					t.Fatalf("skipped %v", skipped[0])
				}
				if d.ID != test.id || d.Field != test.field || string(d.Raw) != test.entry {
					t.Errorf("ID %q, Field %q, Raw %s", d.ID, d.Field, d.Raw)
				}
			})
		}
	}
}

func TestListIsEmptyIfTheResponseIsNullOrHasNoContent(t *testing.T) {
	for _, l := range listCalls {
		for _, empty := range []double.Step{double.Respond(200, "null"), double.Respond(200, " null\n"), double.Respond(204, ""), double.Respond(200, "[]")} {
			if ids, err := l.call(t.Context(), double.Play(empty).Client(t)); ids != nil || err != nil {
				t.Errorf("%s: %v, %v", l.name, ids, err)
			}
		}
		if _, err := l.call(t.Context(), double.Play(double.Respond(404, "[]")).Client(t)); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("%s: %v", l.name, err)
		}
	}
}

func TestListThatIsNotAnArrayIsOneError(t *testing.T) {
	for _, l := range listCalls {
		good := fmt.Sprintf(l.good, 1)
		for _, body := range []string{"7", `"null"`, "[" + l.odd + "," + good, "[" + good + "," + l.odd[:len(l.odd)-1], "[" + l.odd + "] x", "[" + good + "," + l.odd + ",]"} {
			ids, err := l.call(t.Context(), responding(t, body))
			d, ok := errors.AsType[*horseracing.DecodeError](err)
			if ids != nil || !ok || d.Raw != nil || d.ID != "" {
				t.Errorf("%s: %s: %v, %v", l.name, body, ids, err)
			}
		}
	}
}

func TestDecodeErrorRawIsRedactedAndBounded(t *testing.T) {
	entry := func(note string) string { return `{"main_race_id":4711,"note":"` + note + `","entry_fee":{}}` }
	for _, test := range []struct {
		name, entry, want string
	}{
		{"a key in a string", entry("x" + double.AppKey + "x"), entry("x[redacted]x")},
		{"64 KiB", entry(strings.Repeat("x", 64<<10-len(entry("")))), entry(strings.Repeat("x", 64<<10-len(entry(""))))},
		{"more than 64 KiB", entry(strings.Repeat("x", 64<<10-len(entry(""))+1)), ""},
	} {
		_, err := responding(t, "["+test.entry+"]").Races.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok || string(d.Raw) != test.want {
			t.Errorf("%s: %.200s, %v", test.name, d.Raw, err)
		}
	}
}
