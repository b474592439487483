// Quickstart is a first look at the service: the open races, the last results
// of a tier, a horse and its missions.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -horse 7
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it reads a fake of the
// service that lives for this run.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: quickstart [flags]

Prints the open races, the last twenty results of tier Omega, a horse with its
traits and missions, and the catalogue of missions. Reads an embedded fake
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  quickstart               the newest winner
  quickstart -horse 7      horse number 7

Flags:
`

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	horse := flags.Int64("horse", 0, "the `NUMBER` of the horse to show (default: the newest winner)")
	if status, ok := program.Parse(flags, usage, args, stderr); !ok {
		return status
	}
	return program.Exit(ctx, "quickstart", show(ctx, horseracing.HorseNumber(*horse), stdout), stderr)
}

func show(ctx context.Context, number horseracing.HorseNumber, w io.Writer) error {
	service, err := program.Connect()
	if err != nil {
		return err
	}
	defer service.Close()
	client := service.Client
	service.Announce(w)

	open, err := program.Open(ctx, client, w)
	if err != nil {
		return err
	}
	if err := showOpen(w, open, time.Now()); err != nil {
		return err
	}

	// The tier is named: a query without one reads Omega, not every tier.
	results, err := program.Newest(ctx, client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 20, w)
	if err != nil {
		return err
	}
	winner, err := showResults(w, results)
	if err != nil {
		return err
	}

	if number == 0 {
		number = winner
	}
	if number != 0 {
		horse, err := client.Horses.Get(ctx, number)
		if err != nil {
			return err
		}
		missions, err := client.Horses.Missions(ctx, number)
		if err != nil {
			return err
		}
		if err := showHorse(w, horse, missions.Missions); err != nil {
			return err
		}
	}

	catalogue, err := client.Missions.Catalogue(ctx)
	if err != nil {
		return err
	}
	return showCatalogue(w, catalogue)
}

// showOpen prints the open races, the one that closes first on top, and then
// those that are listed although registration has closed.
func showOpen(w io.Writer, races []horseracing.Race, now time.Time) error {
	slices.SortFunc(races, func(a, b horseracing.Race) int {
		closed := func(r horseracing.Race) int {
			if r.RegistrationOpenAt(now) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(closed(a), closed(b)),
			a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
	})
	open := slices.IndexFunc(races, func(r horseracing.Race) bool { return !r.RegistrationOpenAt(now) })
	title := fmt.Sprintf("Open races: %d", len(races))
	if open >= 0 {
		title = fmt.Sprintf("Open races: %d, and %d closed for registration", open, len(races)-open)
	}
	table := program.NewTable(w, title, "RACE", "CLOSES IN", "NAME", "HIPPODROME", "FURLONGS", "LEVELS", "TAKEN", "FEE (TOKENS)")
	for _, r := range races {
		taken := fmt.Sprintf("%d of %d", len(r.Participants), r.Places)
		table.Row(r.MainRaceID, program.Left(now, r.RegistrationDeadline.Time), r.Info.Name, r.Info.HippodromeName,
			r.Length, program.Levels(&r), taken, program.Tokens(r.EntryFee))
	}
	return table.End()
}

// showResults prints finished races and returns the winner of the newest.
func showResults(w io.Writer, races []horseracing.Race) (winner horseracing.HorseNumber, err error) {
	title := fmt.Sprintf("Last results of tier Omega: %d", len(races))
	table := program.NewTable(w, title, "RACE", "STARTED (UTC)", "NAME", "FURLONGS", "TYPE", "FIRST", "SECOND", "THIRD")
	for _, r := range races {
		finishers, _ := r.Finishers() // none where the final order cannot be read
		var first [3]string
		for i, f := range finishers[:min(3, len(finishers))] {
			first[i] = fmt.Sprintf("#%d (%.2f)", f.Number, f.Total)
		}
		if winner == 0 && len(finishers) > 0 {
			winner = finishers[0].Number
		}
		table.Row(r.MainRaceID, r.StartTime.Format("2006-01-02 15:04"), r.Info.Name, r.Length, r.Type, first[0], first[1], first[2])
	}
	return winner, table.End()
}

func showHorse(w io.Writer, h *horseracing.Horse, missions []horseracing.HorseMission) error {
	about := program.NewTable(w, fmt.Sprintf("Horse #%d", h.Number))
	about.Row("name", h.Name)
	about.Row("gender", h.Gender)
	about.Row("breed", h.Breed)
	about.Row("generation", h.Generation)
	about.Row("tier", h.Tier)
	about.Row("level", h.Level)
	about.Row("height", h.Height)
	about.Row("weight", h.Weight)
	if h.BreedingCooldown != nil {
		about.Row("may breed from", h.BreedingCooldown.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, trait := range h.Appearance {
		about.Row(trait.Type, trait.Value)
	}
	if err := about.End(); err != nil {
		return err
	}

	table := program.NewTable(w, fmt.Sprintf("Missions of horse #%d", h.Number), "PERIOD", "MISSION", "TARGET", "XP", "SUGAR", "COMPLETED")
	for _, m := range missions {
		completed := "no"
		if m.Completed {
			completed = "yes"
		}
		table.Row(m.Type, m.Name, m.Count, m.RewardXP, m.RewardSugar, completed)
	}
	return table.End()
}

func showCatalogue(w io.Writer, catalogue *horseracing.MissionCatalogue) error {
	table := program.NewTable(w, "Catalogue of missions", "PERIOD", "TYPE", "TARGET", "FURLONGS", "HIPPODROME TYPES", "PLACES")
	for period, m := range catalogue.All() {
		table.Row(period, m.Type, fmt.Sprintf("%d-%d", m.Min, m.Max),
			bounds(m.FurlongMin, m.FurlongMax), bounds(m.HippodromeTypeMin, m.HippodromeTypeMax), bounds(m.PlaceMin, m.PlaceMax))
	}
	return table.End()
}

func bounds(low, high *int) string {
	if low == nil || high == nil {
		return "-"
	}
	return fmt.Sprintf("%d-%d", *low, *high)
}
