package horseracing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
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
				if text := d.Error(); !containsAll(text, test.id, test.field) {
					t.Errorf("the text %q does not name it", text)
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

func TestDecodeErrorRawIsRedactedBoundedAndNeverPrinted(t *testing.T) {
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
			continue
		}
		var out bytes.Buffer
		for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			log.Error("failed", "err", err, "decode", d, "value", *d)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+verb+verb, err, d, *d)
		}
		if printed := out.String(); strings.Contains(printed, "note") || strings.Contains(printed, double.AppKey) || strings.Count(printed, "4711") < 10 {
			t.Errorf("%s: printed %.3000s", test.name, printed)
		}
	}
}

// Whatever the service makes of its document: of the entries that it lists none is lost
// without an error, and what is returned is what was requested, with the values of the
// literal reading, except for members that have another type.
func TestListAndGetUnderEveryReading(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC) }
	literal := horseracingtest.NewServer(horseracingtest.WithClock(now), horseracingtest.WithHistory(20), horseracingtest.WithInMemory())
	t.Cleanup(literal.Close)
	truth, err := literal.Client().Races.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byObject := map[string]horseracing.Race{}
	for _, race := range truth {
		byObject[race.ObjectID] = race
	}
	numbers := literal.Horses(0)
	members := []string{"main_race_id", "start_time", "entry_fee", "places", "participants", "type", "v2", "tier", "length", "prizes", "info.turf", "participants.total", "number", "level", "name", "height"}
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SliceOfNDistinct(rapid.SampledFrom(members), 0, 3, rapid.ID[string]).Draw(t, "members")
		r := horseracingtest.Readings{
			Heats:     rapid.Bool().Draw(t, "heats"),
			EmptyList: rapid.SampledFrom([]string{"", "null", "204"}).Draw(t, "empty list"), Members: map[string]string{},
		}
		for _, member := range odd {
			r.Members[member] = `{"another":"type"}`
		}
		fake := horseracingtest.NewServer(horseracingtest.WithClock(now), horseracingtest.WithHistory(20), horseracingtest.WithReadings(r), horseracingtest.WithInMemory())
		defer fake.Close()
		skipped, ctx := 0, context.Background()
		c := fake.Client(horseracing.WithSkipHandler(func(context.Context, error) { skipped++ }))

		open, err := c.Races.Open(ctx)
		if err != nil || len(open)+skipped != len(truth) {
			t.Fatalf("%d races of %d, %d skipped: %v", len(open), len(truth), skipped, err)
		}
		for i := range open {
			mustBeTrue(t, &open[i], byObject[open[i].ObjectID], r)
		}
		for _, race := range truth {
			got, err := c.Races.Get(ctx, race.MainRaceID)
			if err == nil {
				if mustBeTrue(t, got, byObject[got.ObjectID], r); got.MainRaceID != race.MainRaceID || got.EntryFee.Cmp(race.EntryFee) < 0 {
					t.Fatalf("race %d for %v became %d for %v", race.MainRaceID, race.EntryFee, got.MainRaceID, got.EntryFee)
				}
				continue
			}
			_, isDecode := errors.AsType[*horseracing.DecodeError](err)
			if isMoved := r.Heats && race.MainRaceID%10 == 1; !isDecode && !(isMoved && errors.Is(err, horseracing.ErrNotFound)) {
				t.Fatalf("race %d: %v", race.MainRaceID, err)
			}
		}
		for _, number := range numbers {
			horse, err := c.Horses.Get(ctx, number)
			if _, isDecode := errors.AsType[*horseracing.DecodeError](err); err != nil && !isDecode || err == nil && horse.Number != number {
				t.Fatalf("horse %d: %v, %v", number, horse, err)
			}
		}
	})
}

// mustBeTrue fails unless a race is the literal one, except for its id, which may be that
// of another heat, and members of another type.
func mustBeTrue(t *rapid.T, got *horseracing.Race, want horseracing.Race, r horseracingtest.Readings) {
	fields := map[string]string{"type": "Type", "v2": "V2", "tier": "Tier", "length": "Length", "prizes": "Prizes", "info.turf": "Info.Turf"}
	mayDiffer := []string{"MainRaceID"}
	for member := range r.Members {
		if field, ok := fields[member]; ok {
			mayDiffer = append(mayDiffer, field)
		}
	}
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(horseracing.Race{}, mayDiffer...)); diff != "" {
		t.Fatalf("race %d: %s", got.MainRaceID, diff)
	}
}
