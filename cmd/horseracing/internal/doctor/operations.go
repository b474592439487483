package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/horseracing-go/horseracing"
)

// operations are the checks whether the responses of all operations that read decode. They
// keep what these return.
func (d *Doctor) operations() []check {
	horses, races, tournaments := d.client.Horses, d.client.Races, d.client.Tournaments
	omega := horseracing.ResultsQuery{Tier: horseracing.TierOmega}
	return []check{
		// It comes first, so that a recording has the user's key before anything echoes it.
		{"4.2", "Horses.Owned", "", d.horsesOwned},
		{"4.7", "Races.Open", "", decodes(d, &d.open, races.Open)},
		{"4.5", "Races.Results", "", walks(d, &d.finished, races.Results(omega), 20)},
		{"4.6", "Races.ResultsV1", "", walks(d, new([]horseracing.Race), races.ResultsV1(horseracing.OffsetQuery{Tier: horseracing.TierOmega}), 10)},
		{"4.10", "Tournaments.Results", "", walks(d, &d.tournaments, tournaments.Results(omega), 10)},
		{"4.11", "Tournaments.Open", "", decodes(d, new([]horseracing.Tournament), tournaments.Open)},
		{"4.12", "Tournaments.Get", "", decodesEach(d, new([]horseracing.Tournament), tournaments.Get, d.tournamentIDs)},
		{"4.8", "Races.Get", "R4", decodesEach(d, new([]horseracing.Race), races.Get, d.raceIDs)},
		{"4.1", "Horses.Get", "R4", decodesEach(d, &d.horses, horses.Get, d.runners)},
		{"4.3", "Horses.Missions", "", decodesEach(d, &d.missions, horses.Missions, d.runners)},
		{"4.4", "Horses.OpenForBreeding", "", decodes(d, &d.breeding, horses.OpenForBreeding)},
		{"4.13", "Missions.Catalogue", "", decodes(d, &d.catalogue, d.client.Missions.Catalogue)},
		{"7", "a request without a key", "", d.keyless},
		{"4.1", "Horses.Get of an id that does not exist", "", d.unknown("/api/v1/horses/999999999")},
		{"4.3", "Horses.Missions of an id that does not exist", "", d.unknown("/api/v1/horses/missions/999999999")},
		{"4.8", "Races.Get of an id that does not exist", "", d.unknown("/api/v1/races/999999999999")},
		{"4.12", "Tournaments.Get of an id that does not exist", "", d.unknown("/api/v1/tournaments/000000000000000000000000")},
	}
}

// decodes returns the check that calls an operation, and keeps what it returns.
func decodes[T any](d *Doctor, into *T, get func(context.Context, ...horseracing.CallOption) (T, error)) func(context.Context) finding {
	return func(ctx context.Context) finding {
		var response horseracing.Response
		value, err := get(ctx, horseracing.CaptureResponse(&response))
		*into = value
		if err != nil {
			return d.failure(err)
		}
		return found(good, "it decodes: %s", shapeOf(response.Body))
	}
}

// decodesEach does the same with an operation that takes an id, for several of
// them.
func decodesEach[ID, T any](d *Doctor, into *[]T, get func(context.Context, ID, ...horseracing.CallOption) (*T, error), ids func() []ID) func(context.Context) finding {
	return func(ctx context.Context) finding {
		f := notRead
		for _, id := range ids() {
			var value *T
			f = decodes(d, &value, func(ctx context.Context, options ...horseracing.CallOption) (*T, error) {
				return get(ctx, id, options...)
			})(ctx)
			if value == nil {
				break
			}
			*into = append(*into, *value)
		}
		return f
	}
}

// walks returns the check that reads the first entries of a listing, and keeps
// those that can be read.
func walks[T any](d *Doctor, into *[]T, pager *horseracing.Pager[T], most int) func(context.Context) finding {
	return func(ctx context.Context) finding {
		var failed error
		read := 0
		for entry, err := range pager.All(ctx) {
			if failed = cmp.Or(failed, err); err == nil {
				*into = append(*into, *entry)
			}
			if read++; read == most {
				break
			}
		}
		f := found(good, "%d entries decode", len(*into))
		if failed != nil {
			f = d.failure(failed)
			f.Text += fmt.Sprintf("; entries that decode: %d of %d", len(*into), read)
		}
		return f
	}
}

// failure returns the finding about a call that failed.
func (d *Doctor) failure(err error) finding {
	if errors.Is(err, context.Canceled) || errors.Is(err, errNoRequestsLeft) {
		d.fail(err)
	}
	f := finding{Mark: bad, Text: err.Error(), Advice: "the method returns this error"}
	if _, unreadable := errors.AsType[*horseracing.DecodeError](err); unreadable {
		f.Advice = "the method returns this error; attach the response too"
	}
	return f
}

func (d *Doctor) horsesOwned(ctx context.Context) finding {
	if d.config.UserKey == "" {
		return found(skipped, "not examined: set HORSERACING_USER_KEY to read that user's horses")
	}
	return decodes(d, &d.owned, func(ctx context.Context, options ...horseracing.CallOption) ([]horseracing.Horse, error) {
		return d.client.Horses.Owned(ctx, d.config.UserKey, options...)
	})(ctx)
}

func (d *Doctor) tournamentIDs() (ids []horseracing.TournamentID) {
	if len(d.tournaments) > 0 {
		ids = append(ids, d.tournaments[0].ID)
	}
	return ids
}

// raceIDs returns the ids of an open race and of a finished one.
func (d *Doctor) raceIDs() (ids []horseracing.RaceID) {
	for _, races := range [][]horseracing.Race{d.open, d.finished} {
		if len(races) > 0 {
			ids = append(ids, races[0].MainRaceID)
		}
	}
	return ids
}

// runners returns numbers of horses that ran lately.
func (d *Doctor) runners() (numbers []horseracing.HorseNumber) {
	for _, race := range slices.Concat(d.finished, d.open) {
		for _, p := range race.Participants {
			if p.Number > 0 && !slices.Contains(numbers, p.Number) && len(numbers) < 3 {
				numbers = append(numbers, p.Number)
			}
		}
	}
	return numbers
}

// keyless sends a request without a key, which the client never does.
func (d *Doctor) keyless(ctx context.Context) finding {
	req, _ := http.NewRequestWithContext(expectRefusal(ctx), http.MethodGet, d.client.BaseURL()+"/api/v1/missions", nil) // the client uses that URL too
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.probe.RoundTrip(req)
	if err != nil {
		d.fail(err)
		return notRead
	}
	resp.Body.Close()
	return oddIf(resp.StatusCode < 400, "documented as an error: is this the service, or something in front of it?", "status %d", resp.StatusCode)
}

// unknown returns the check that requests what does not exist.
func (d *Doctor) unknown(path string) func(context.Context) finding {
	return func(ctx context.Context) finding {
		status, body := d.get(expectRefusal(ctx), path, nil)
		shape := shapeOf(body)
		isNotFound := status == http.StatusNotFound || shape == "null" || shape == "an array of 0"
		return oddIf(!isNotFound, "errors.Is does not find ErrNotFound in it", "status %d, %s", status, shape)
	}
}
