package main

import (
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/ledger"
)

// The schemas of results are made from these types. They have no integers beyond 2^53,
// which most readers of JSON round.

type amount struct {
	Tokens string `json:"tokens" jsonschema:"in tokens, if a token has 18 decimal places, which is undocumented"`
	Units  string `json:"units" jsonschema:"in units of 10^-18 tokens, as the service sends fees"`
}

func amountOf(n units.Amount) amount { return amount{units.Format(n), n.FormatUnits(0)} }

// words returns a text of the service, in which a player may address the agent, without
// characters that do not show, and not longer than a name.
func words[S ~string](text S) S {
	const most = 100
	shown := []rune(redact.Visible(string(text)))
	if len(shown) > most {
		shown = append(shown[:most], '…')
	}
	return S(shown)
}

type raceView struct {
	Race       horseracing.RaceID        `json:"race" jsonschema:"the id for get_race and plan_registration"`
	Name       string                    `json:"name"`
	Tier       horseracing.TierName      `json:"tier"`
	Type       horseracing.RaceType      `json:"type,omitempty"`
	Hippodrome string                    `json:"hippodrome"`
	Furlongs   int                       `json:"furlongs"`
	Start      string                    `json:"start"`
	Closes     string                    `json:"closes,omitempty" jsonschema:"when registration closes; without it the race cannot be entered yet"`
	Enterable  bool                      `json:"enterable" jsonschema:"registration is open and a place is free"`
	Fee        amount                    `json:"fee"`
	Prizes     []amount                  `json:"prizes,omitempty" jsonschema:"one for each place, the first place first"`
	Places     int                       `json:"places"`
	FreePlaces int                       `json:"free_places"`
	MinLevel   int                       `json:"min_level,omitempty"`
	MaxLevel   int                       `json:"max_level,omitempty"`
	Finished   bool                      `json:"finished"`
	Note       string                    `json:"note,omitempty"`
	Horses     []horseracing.HorseNumber `json:"horses,omitempty" jsonschema:"numbers; of a finished race in the order of finishing, the winner first"`
}

// wholeRace is the result for one race.
type wholeRace struct {
	stamp
	raceView
	Runners []runner `json:"runners,omitempty" jsonschema:"of a finished race: the same horses with lane and total"`
}

type runner struct {
	Horse horseracing.HorseNumber `json:"horse"`
	Lane  int                     `json:"lane,omitempty"`
	Total float64                 `json:"total,omitempty" jsonschema:"time score, unit undocumented"`
}

func (s *server) raceOf(r *horseracing.Race) raceView {
	v := raceView{
		Race: r.MainRaceID, Name: words(r.Info.Name), Tier: words(r.Tier), Type: words(r.Type), Hippodrome: words(r.Info.HippodromeName), Furlongs: r.Length,
		Start: instant(r.StartTime.Time), Closes: instant(r.RegistrationDeadline.Time), Enterable: r.CheckEntry(nil, s.now()) == nil,
		Fee: amountOf(r.EntryFee), Places: r.Places, FreePlaces: r.FreePlaces(), MinLevel: r.MinLevel, MaxLevel: r.MaxLevel, Finished: r.Finished(),
	}
	if !v.Finished && v.Closes == "" {
		v.Note = "it has no closing time, so it cannot be entered yet"
	}
	for _, prize := range r.Prizes {
		v.Prizes = append(v.Prizes, amountOf(prize))
	}
	horses, err := r.Finishers()
	if err != nil || !r.Finished() {
		horses = r.Participants
	}
	for _, p := range horses {
		v.Horses = append(v.Horses, p.Number)
	}
	return v
}

type horseView struct {
	Horse            horseracing.HorseNumber `json:"horse"`
	Name             string                  `json:"name"`
	Gender           horseracing.Gender      `json:"gender"`
	Breed            string                  `json:"breed"`
	Tier             horseracing.TierName    `json:"tier"`
	Level            int                     `json:"level"`
	Generation       int                     `json:"generation"`
	Height           float64                 `json:"height" jsonschema:"unit undocumented"`
	Weight           float64                 `json:"weight" jsonschema:"unit undocumented"`
	BreedingCooldown string                  `json:"breeding_cooldown,omitempty" jsonschema:"the time before which it may not breed"`
	Image            string                  `json:"image"`
	ExternalURL      string                  `json:"external_url" jsonschema:"its public page"`
	Appearance       []horseracing.Trait     `json:"appearance,omitempty"`
}

// oneHorse is the result for one horse.
type oneHorse struct {
	stamp
	horseView
}

func horseOf(traits bool) func(*horseracing.Horse) horseView {
	return func(h *horseracing.Horse) horseView {
		v := horseView{
			Horse: h.Number, Name: words(h.Name), Gender: words(h.Gender), Breed: words(h.Breed), Tier: words(h.Tier), Level: h.Level,
			Generation: h.Generation, Height: h.Height, Weight: h.Weight, Image: words(h.Image), ExternalURL: words(h.ExternalURL),
		}
		if h.BreedingCooldown != nil {
			v.BreedingCooldown = instant(*h.BreedingCooldown)
		}
		if traits {
			for _, t := range h.Appearance {
				v.Appearance = append(v.Appearance, horseracing.Trait{Type: words(t.Type), Value: words(t.Value)})
			}
		}
		return v
	}
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

type tournamentView struct {
	Tournament horseracing.TournamentID `json:"tournament"`
	Name       string                   `json:"name"`
	Hippodrome string                   `json:"hippodrome"`
	Tier       horseracing.TierID       `json:"tier" jsonschema:"an id; 5 is Omega, the others are undocumented"`
	Status     int                      `json:"status" jsonschema:"2 if finished; others are undocumented"`
	Opens      string                   `json:"opens,omitempty"`
	Closes     string                   `json:"closes,omitempty" jsonschema:"when registration closes"`
	Start      string                   `json:"start"`
	Fee        amount                   `json:"fee"`
	Places     int                      `json:"places"`
	Taken      int                      `json:"taken"`
	MinLevel   int                      `json:"min_level,omitempty"`
	MaxLevel   int                      `json:"max_level,omitempty"`
}

func tournamentOf(t *horseracing.Tournament) tournamentView {
	return tournamentView{
		words(t.ID), words(t.Name), words(t.HippodromeName), t.Tier, t.Status, instant(t.RegistrationOpen.Time), instant(t.RegistrationDeadline.Time),
		instant(t.StartTime.Time), amountOf(t.EntryFee), t.Places, len(t.Participants), t.MinLevel, t.MaxLevel,
	}
}

type missionView struct {
	Period    horseracing.MissionPeriod `json:"period"`
	Kind      horseracing.MissionKind   `json:"kind"`
	Name      string                    `json:"name"`
	Count     int                       `json:"count" jsonschema:"how often it must be done"`
	Done      int                       `json:"done" jsonschema:"entries of its progress, whose meaning is undocumented"`
	Completed bool                      `json:"completed"`
	XP        int                       `json:"xp"`
	Sugar     int                       `json:"sugar"`

	// What some kinds are about.
	Furlongs   *int `json:"furlongs,omitempty"`
	Hippodrome *int `json:"hippodrome,omitempty" jsonschema:"a type of hippodromes, undocumented"`
	Place      *int `json:"place,omitempty"`
}

func missionOf(m *horseracing.HorseMission) missionView {
	return missionView{words(m.Type), words(m.Mission), words(m.Name), m.Count, len(m.Progress), m.Completed, m.RewardXP, m.RewardSugar, m.Furlongs, m.Hippodrome, m.Place}
}

type breedingView struct {
	Horse      horseracing.HorseNumber `json:"horse"`
	Name       string                  `json:"name"`
	Gender     horseracing.Gender      `json:"gender"`
	Tier       horseracing.TierName    `json:"tier"`
	Generation int                     `json:"generation"`
	Price      amount                  `json:"price"`
	Races      int                     `json:"races"`
	Wins       int                     `json:"wins"`
}

func breedingOf(b *horseracing.BreedingListing) breedingView {
	return breedingView{b.Number, words(b.Name), words(b.Gender), words(b.Tier), b.Generation, amountOf(units.Price(b.Price)), b.TotalRaceCount, b.WinsFirstCount}
}

type entryView struct {
	Time  string                  `json:"time"`
	Horse horseracing.HorseNumber `json:"horse"`
	Race  horseracing.RaceID      `json:"race"`
	Fee   amount                  `json:"fee"`
	State ledger.State            `json:"state"`
	Paid  string                  `json:"paid" jsonschema:"yes, perhaps or no"`
	Note  string                  `json:"note,omitempty"`
}

// entryOf quotes the note, which may hold the service's words.
func entryOf(e *ledger.Entry) entryView {
	v := entryView{Time: instant(e.Time), Horse: e.Horse, Race: e.Race, Fee: amountOf(e.Fee), State: e.State, Paid: paid(e.State)}
	if e.State == ledger.Sending { // by a program that runs, or was killed
		v.State = ledger.Unknown
	}
	if e.Note != "" {
		v.Note = fmt.Sprintf("recorded: %.600q", e.Note)
	}
	return v
}

// paid returns whether the fee of an entry is paid: "perhaps" if that is not certain.
func paid(s ledger.State) string {
	switch s {
	case ledger.Entered:
		return "yes"
	case ledger.Sending, ledger.Unknown:
		return "perhaps"
	}
	return "no"
}
