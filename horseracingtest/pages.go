package horseracingtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// operations are in the order of the API reference. A parameter comes after the operations
// whose fixed path it would also match.
//
// See docs/service.md, section 4.
var operations = []operation{
	{http.MethodGet, "/api/v1/horses/user", takesBody((*world).userHorses)},
	{http.MethodGet, "/api/v1/horses/*", takesNumber("horse_number", (*world).horseByNumber)},
	{http.MethodGet, "/api/v1/horses/missions/*", takesNumber("horse_number", (*world).missionsOf)},
	{http.MethodGet, "/api/v1/horses/breeding/open", takesNothing((*world).openForBreeding)},
	{http.MethodGet, "/api/v2/races/results", takesBody((*world).raceResults)},
	{http.MethodGet, "/api/v1/races/results", takesBody((*world).raceResultsV1)},
	{http.MethodGet, "/api/v1/races/open", takesNothing((*world).openRaces)},
	{http.MethodPost, "/api/v1/races/register", takesBody((*world).register)},
	{http.MethodGet, "/api/v1/races/*", takesNumber("raceId", (*world).raceByID)},
	{http.MethodGet, "/api/v1/tournaments/results", takesBody((*world).tournamentResults)},
	{http.MethodGet, "/api/v1/tournaments/open", takesNothing((*world).openTournaments)},
	{http.MethodGet, "/api/v1/tournaments/*", takesText((*world).tournamentByID)},
	{http.MethodGet, "/api/v1/missions", takesNothing((*world).missionCatalogue)},
}

// The bodies of requests. A member that is required is never zero.
type (
	userBody struct {
		UserKey string `json:"user_key"`
	}
	timeBody struct {
		Tier          *int64 `json:"tier"`
		StartTimeFrom *int64 `json:"start_time_from"`
	}
	offsetBody struct {
		Tier   *int64 `json:"tier"`
		Offset int64  `json:"offset"`
	}
	entryBody struct {
		Horse   horseracing.HorseNumber `json:"horse_number"`
		UserKey string                  `json:"user_key"`
		Race    horseracing.RaceID      `json:"main_race_id"`
	}
)

// omega is the tier of a request that names none.
const omega = horseracing.TierOmega

// tierNames are the tiers of the fake, by id. Documented are 5 as Omega, and that there is
// a Beta; the rest is the fake's own.
var tierNames = []horseracing.TierName{1: "Alpha", 2: "Beta", 3: "Gamma", 4: "Delta", omega: "Omega"}

// tierOf returns the id of the tier with a name, or 0 if there is none.
func tierOf(name horseracing.TierName) horseracing.TierID {
	return horseracing.TierID(max(0, slices.Index(tierNames[1:], name)+1))
}

// queried returns the tier of a query.
func queried(tier *int64) (horseracing.TierID, *refusal) {
	if tier == nil {
		return omega, nil
	}
	if *tier < 1 || *tier > int64(omega) {
		return 0, refuse(http.StatusBadRequest, "unknown_tier", "there is no tier %d; this fake has 1 to %d", *tier, omega)
	}
	return horseracing.TierID(*tier), nil
}

// query reads the body of a results operation by time: entries of the tier that start
// before the time are shown.
func (w *world) query(b timeBody, now time.Time) (horseracing.TierID, time.Time, *refusal) {
	tier, no := queried(b.Tier)
	before := now
	if b.StartTimeFrom != nil {
		before = time.UnixMilli(*b.StartTimeFrom)
	}
	if w.readings.Inclusive {
		before = before.Add(time.Millisecond)
	}
	return tier, before, no
}

func (w *world) raceResults(b timeBody, now time.Time) ([]byte, *refusal) {
	tier, before, no := w.query(b, now)
	return w.showRaces(w.finished[tier].before(before), asResult, now), no
}

func (w *world) raceResultsV1(b offsetBody, now time.Time) ([]byte, *refusal) {
	tier, no := queried(b.Tier)
	if no == nil && b.Offset < 0 {
		return nil, refuse(http.StatusBadRequest, "out_of_range", "offset must not be negative, got %d", b.Offset)
	}
	return w.showRaces(w.finished[tier].skip(int(min(b.Offset, math.MaxInt32))), asResultV1, now), no
}

func (w *world) openRaces(now time.Time) ([]byte, *refusal) {
	open := slices.DeleteFunc(slices.Clone(w.upcoming), func(r *race) bool { return !now.Before(r.start()) })
	return w.showRaces(open, byID, now), nil
}

// raceByID shows an array of one race, or of none. Under the reading Heats it may be of
// two.
func (w *world) raceByID(n int64, now time.Time) ([]byte, *refusal) {
	var found []*race
	for _, id := range []horseracing.RaceID{horseracing.RaceID(n), horseracing.RaceID(n) + 1} {
		if r := w.races[id]; r != nil && int64(w.listedID(id)) == n {
			found = append(found, r)
		}
	}
	return w.showRaces(found, byID, now), nil
}

// form is a way in which the service shows a race.
type form int

const (
	byID       form = iota // with _id, and the status if it is open
	asResult               // in the results, version 2
	asResultV1             // in the results, version 1: without type and levels
	forms
)

// shownRace is a race as the service writes it. Participants always have a total, unlike
// those of the library's type.
type shownRace struct {
	horseracing.Race
	Participants []shownParticipant `json:"participants"`
}

type shownParticipant struct {
	horseracing.RaceParticipant
	Total float64 `json:"total"`
}

func (w *world) showRaces(races []*race, f form, now time.Time) []byte {
	return showList(races, func(r *race) []byte {
		if r.text[f] == nil || w.readings.changesRaces() {
			r.text[f] = w.show(r, f, now)
		}
		return r.text[f]
	})
}

// show writes a race.
func (w *world) show(r *race, f form, now time.Time) []byte {
	shown := shownRace{Race: r.Race}
	w.showRace(&shown.Race, f != byID, now)
	switch {
	case f != byID:
		shown.ObjectID = ""
		shown.FinalOrder, shown.Winners = notNil(shown.FinalOrder), notNil(shown.Winners)
	case !r.isFinished:
		shown.Status = cmp.Or(shown.Status, horseracing.RaceStatusInProgress)
	}
	if f == byID {
		shown.ObjectID = cmp.Or(r.ObjectID, objectID(r.start(), uint64(r.MainRaceID)))
	}
	if f == asResultV1 {
		shown.Type, shown.MinLevel, shown.MaxLevel = "", 0, 0
	}
	shown.Participants = make([]shownParticipant, len(shown.Race.Participants))
	for i, p := range shown.Race.Participants {
		shown.Participants[i] = shownParticipant{p, p.Total}
	}
	return encode(shown)
}

// cup is a tournament.
type cup struct {
	horseracing.Tournament
	isAdded bool // by a test: it stays as it is
}

func (c *cup) start() time.Time { return c.StartTime.Time }

func (c *cup) compare(other *cup) int {
	return cmp.Or(c.StartTime.Compare(other.StartTime.Time), cmp.Compare(c.ID, other.ID))
}

const (
	cupHours    = 6              // between two tournaments that open by themselves
	cupOpens    = 24 * time.Hour // before the start
	cupLasts    = 6 * time.Hour
	cupFinished = 2 // the documented status of finished tournaments
)

// advanceCups lets tournaments open and finish until now.
func (w *world) advanceCups(now time.Time) {
	opens := func(k int) time.Time { return w.begin.Add(time.Duration(k*cupHours) * time.Hour) }
	for ; w.perHour > 0 && w.isDue(opens(w.nextCup), now); w.nextCup++ {
		c := newCup(omega, opens(w.nextCup).Add(cupOpens), w.nextCup)
		c.Status, c.Participants = 0, []horseracing.TournamentParticipant{}
		for i := range c.Stages {
			c.Stages[i].Status, c.Stages[i].CurrentRound, c.Stages[i].Results = 0, 0, []horseracing.StageResult{}
		}
		w.cups[c.ID] = c
		w.currentCups = append(w.currentCups, c)
	}
	w.currentCups = slices.DeleteFunc(w.currentCups, func(c *cup) bool {
		if c.isAdded || !w.isDue(c.start().Add(cupLasts), now) {
			return false
		}
		finished := newCup(c.Tier, c.start(), 0)
		c.Status, c.Participants, c.Stages = finished.Status, finished.Participants, finished.Stages
		w.finishedCups[c.Tier].add(c)
		return true
	})
}

// addCup adds a tournament, in place of one with the same id.
func (w *world) addCup(c *cup) {
	if old := w.cups[c.ID]; old != nil {
		w.currentCups = slices.DeleteFunc(w.currentCups, func(other *cup) bool { return other == old })
		w.finishedCups[old.Tier].remove(old)
	}
	w.cups[c.ID] = c
	if c.Status == cupFinished {
		w.finishedCups[c.Tier].add(c)
	} else {
		w.currentCups = append(w.currentCups, c)
	}
}

func (w *world) tournamentResults(b timeBody, now time.Time) ([]byte, *refusal) {
	tier, before, no := w.query(b, now)
	return showList(w.finishedCups[tier].before(before), showCup), no
}

func (w *world) openTournaments(time.Time) ([]byte, *refusal) {
	return showList(w.currentCups, showCup), nil
}

func (w *world) tournamentByID(id string, _ time.Time) ([]byte, *refusal) {
	if c := w.cups[horseracing.TournamentID(id)]; c != nil {
		return showCup(c), nil
	}
	return nil, refuse(http.StatusNotFound, "unknown_tournament", "there is no tournament %.100q", id)
}

func showCup(c *cup) []byte { return encode(&c.Tournament) }

// horse is a horse with its owner.
type horse struct {
	horseracing.Horse
	owner int // user, or -1 if the fake has no key of the owner
}

// show writes the horse. A breeding cooldown that has passed is null.
func (h *horse) show(now time.Time) []byte {
	shown := h.Horse
	if c := shown.BreedingCooldown; c != nil && !c.After(now) {
		shown.BreedingCooldown = nil
	}
	return encode(&shown)
}

func (w *world) horseByNumber(n int64, now time.Time) ([]byte, *refusal) {
	h := w.horse(horseracing.HorseNumber(n))
	if h == nil {
		return nil, w.unknownHorse(horseracing.HorseNumber(n))
	}
	return h.show(now), nil
}

func (w *world) userHorses(b userBody, now time.Time) ([]byte, *refusal) {
	if b.UserKey == "" {
		return nil, refuse(http.StatusBadRequest, "missing_member", "the request body needs user_key")
	}
	user, no := w.userOf(b.UserKey)
	return showList(w.horsesOf(user), func(n horseracing.HorseNumber) []byte { return w.horse(n).show(now) }), no
}

func (w *world) missionsOf(n int64, _ time.Time) ([]byte, *refusal) {
	h := w.horse(horseracing.HorseNumber(n))
	if h == nil {
		return nil, w.unknownHorse(horseracing.HorseNumber(n))
	}
	if given := w.missions[h.Number]; given != nil {
		return given, nil
	}
	missions := anyMissions()
	missions.Number = h.Number
	return encode(missions), nil
}

func (w *world) openForBreeding(time.Time) ([]byte, *refusal) { return w.breeding, nil }

func (w *world) missionCatalogue(time.Time) ([]byte, *refusal) { return w.catalogue, nil }

func (w *world) unknownHorse(n horseracing.HorseNumber) *refusal {
	return refuse(http.StatusNotFound, "unknown_horse", "there is no horse %d; this fake has 1 to %d, and those that were added", n, w.lastHorse)
}

// userOf returns the user of a key.
func (w *world) userOf(key string) (int, *refusal) {
	user, ok := w.userKeys[key]
	if !ok {
		return 0, refuse(http.StatusForbidden, "unknown_user_key", "the user_key belongs to no user of this service")
	}
	return user, nil
}

// showList writes a JSON array.
func showList[E any](list []E, show func(E) []byte) []byte {
	shown := make([][]byte, len(list))
	for i, e := range list {
		shown[i] = show(e)
	}
	return slices.Concat([]byte{'['}, bytes.Join(shown, []byte{','}), []byte{']'})
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	must(err)
	return text
}

// notNil is a list as the service shows it: none is absent.
func notNil[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}

// objectID makes an _id of 24 hexadecimal digits, of which the first eight are the seconds
// of a time.
func objectID(t time.Time, n uint64) string { return fmt.Sprintf("%08x%016x", uint32(t.Unix()), n) }
