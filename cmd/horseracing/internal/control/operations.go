package control

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// user is a user of the fake as JSON.
type user struct {
	Key    string                    `json:"user_key"`
	Horses []horseracing.HorseNumber `json:"horses"`
}

func (c *control) info(*http.Request) (any, error) {
	users := make([]user, c.fake.NumUsers())
	for i := range users {
		users[i] = user{string(c.fake.UserKey(i)), c.fake.Horses(i)}
	}
	return map[string]any{"url": c.fake.URL, "api_key": c.fake.APIKey, "now": c.fake.Now(), "still": c.clock.IsStill(), "users": users}, nil
}

func (c *control) addRaces(r *http.Request) (any, error) {
	var races []horseracing.Race
	if err := read(r, &races, "an array of races"); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(races)}, attempt(func() { c.fake.AddRaces(races...) })
}

func (c *control) removeRace(r *http.Request) (any, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a main_race_id", r.PathValue("id"))
	}
	c.fake.RemoveRaces(horseracing.RaceID(id))
	return struct{}{}, nil
}

func (c *control) addTournaments(r *http.Request) (any, error) {
	var tournaments []horseracing.Tournament
	if err := read(r, &tournaments, "an array of tournaments"); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(tournaments)}, attempt(func() { c.fake.AddTournaments(tournaments...) })
}

// addHorses adds the horses of a user, or of nobody.
func (c *control) addHorses(r *http.Request) (any, error) {
	owner := -1
	if text := r.PathValue("user"); text != "" {
		number, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not a user: they are numbered from 0", text)
		}
		owner = int(number)
	}
	var horses []horseracing.Horse
	if err := read(r, &horses, "an array of horses"); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(horses)}, attempt(func() { c.fake.AddHorses(owner, horses...) })
}

func (c *control) setBreeding(r *http.Request) (any, error) {
	var listings []horseracing.BreedingListing
	if err := read(r, &listings, "an array of breeding listings"); err != nil {
		return nil, err
	}
	return map[string]int{"set": len(listings)}, attempt(func() { c.fake.SetBreeding(listings...) })
}

func (c *control) setMissions(r *http.Request) (any, error) {
	var missions []horseracing.HorseMissions
	if err := read(r, &missions, "an array of horses with their missions"); err != nil {
		return nil, err
	}
	return map[string]int{"set": len(missions)}, attempt(func() { c.fake.SetHorseMissions(missions...) })
}

func (c *control) setCatalogue(r *http.Request) (any, error) {
	var catalogue horseracing.MissionCatalogue
	if err := read(r, &catalogue, "a mission catalogue"); err != nil {
		return nil, err
	}
	return struct{}{}, attempt(func() { c.fake.SetCatalogue(catalogue) })
}

// duration is written as in Go: "1h30m", "250ms".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration like 250ms or 1h30m", text)
	}
	*d = duration(parsed)
	return nil
}

// fault is a horseracingtest.Fault as JSON.
type fault struct {
	Method           string      `json:"method"`
	Path             string      `json:"path"`
	Skip             int         `json:"skip"`
	Probability      float64     `json:"probability"`
	Times            int         `json:"times"`
	Status           int         `json:"status"`
	Header           http.Header `json:"header"`
	Body             string      `json:"body"`
	Delay            duration    `json:"delay"`
	ResetBefore      bool        `json:"reset_before"`
	ResetAfter       bool        `json:"reset_after"`
	CutBody          int         `json:"cut_body"`
	Drip             duration    `json:"drip"`
	IgnoreBody       bool        `json:"ignore_body"`
	TakesEffectAfter duration    `json:"takes_effect_after"`
}

func (c *control) inject(r *http.Request) (any, error) {
	var body []fault
	if err := read(r, &body, "an array of faults"); err != nil {
		return nil, err
	}
	faults := make([]horseracingtest.Fault, len(body))
	for i, f := range body {
		faults[i] = horseracingtest.Fault{
			Method: f.Method, Path: f.Path, Skip: f.Skip, Probability: f.Probability, Times: f.Times,
			Status: f.Status, Header: f.Header, Body: f.Body, Delay: time.Duration(f.Delay),
			ResetBefore: f.ResetBefore, ResetAfter: f.ResetAfter, CutBody: f.CutBody, Drip: time.Duration(f.Drip),
			IgnoreBody: f.IgnoreBody, TakesEffectAfter: time.Duration(f.TakesEffectAfter),
		}
	}
	return map[string]int{"injected": len(faults)}, attempt(func() { c.fake.Inject(faults...) })
}

func (c *control) clearFaults(*http.Request) (any, error) {
	c.fake.ClearFaults()
	return struct{}{}, nil
}

func (c *control) setLimits(r *http.Request) (any, error) {
	var texts []string
	if err := read(r, &texts, `an array of limits such as "50/s"`); err != nil {
		return nil, err
	}
	limits := make([]horseracingtest.RequestLimit, len(texts))
	for i, text := range texts {
		var err error
		if limits[i], err = ParseLimit(text); err != nil {
			return nil, err
		}
	}
	return map[string]int{"limits": len(limits)}, attempt(func() { c.fake.SetRequestLimit(limits...) })
}

type request struct {
	Time   time.Time   `json:"time"`
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Status int         `json:"status"`
}

func (c *control) requests(*http.Request) (any, error) {
	all := []request{}
	for _, r := range c.fake.Requests() {
		all = append(all, request{r.Time, r.Method, r.Path, r.Header, string(r.Body), r.Status})
	}
	return all, nil
}

func (c *control) forgetRequests(*http.Request) (any, error) {
	c.fake.ResetLog()
	return struct{}{}, nil
}

type registration struct {
	Time  time.Time               `json:"time"`
	User  int                     `json:"user"`
	Horse horseracing.HorseNumber `json:"horse_number"`
	Race  horseracing.RaceID      `json:"main_race_id"`
	Fee   horseracing.BigInt      `json:"entry_fee"`
}

func (c *control) registrations(*http.Request) (any, error) {
	all := []registration{}
	for _, r := range c.fake.Registrations() {
		all = append(all, registration(r))
	}
	return all, nil
}
