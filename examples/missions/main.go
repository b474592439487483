// Missions shows which open races serve a horse's unfinished missions best.
//
//	go run ./examples/missions
//	go run ./examples/missions -horse 7 -rows 5
//	go run ./examples/missions -hippodromes Oval,Straight,Triangle
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it reads a fake of the
// service that lives for this run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: missions [flags]

Lists the open races that a horse may enter and that count for its unfinished
missions, the most rewarding first. Reads an embedded fake unless
HORSERACING_BASE_URL and HORSERACING_API_KEY are set; then -horse is needed.

Missions name a type of hippodrome by number, races by word. Which is which is
undocumented: -hippodromes names them.

Examples:
  missions                                        a horse of the fake
  missions -horse 7 -rows 5                       the five best races for horse 7
  missions -hippodromes Oval,Straight,Triangle    type 0 is Oval, 1 Straight, 2 Triangle

Flags:
`

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("missions", flag.ContinueOnError)
	flags.Int64Var((*int64)(&o.horse), "horse", 0, "the `NUMBER` of the horse")
	flags.IntVar(&o.rows, "rows", 10, "how many `RACES` to show at most")
	flags.Func("hippodromes", "the `NAMES` of the hippodrome types 0, 1, 2, ..., separated by commas; empty: unknown", func(names string) error {
		o.hippodromes = strings.Split(names, ",")
		for i, name := range o.hippodromes {
			o.hippodromes[i] = strings.TrimSpace(name)
		}
		return nil
	})
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		switch {
		case o.horse < 0:
			return errors.New("-horse must be at least 1")
		case o.rows < 1:
			return errors.New("-rows must be at least 1")
		}
		return nil
	})
	if !ok {
		return status
	}
	return program.Exit(ctx, "missions", show(ctx, o, stdout), stderr)
}

type options struct {
	horse       horseracing.HorseNumber // zero: the service's
	rows        int
	hippodromes []string // names of the types, by number; empty: unknown
}

func show(ctx context.Context, o options, w io.Writer) error {
	service, err := program.Connect()
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(w)
	if o.horse == 0 {
		o.horse = service.Horse
	}
	if o.horse == 0 {
		return errors.New("name a horse with -horse")
	}

	horse, err := service.Client.Horses.Get(ctx, o.horse)
	if err != nil {
		return err
	}
	record, err := service.Client.Horses.Missions(ctx, o.horse)
	if err != nil {
		return err
	}
	open, err := program.Open(ctx, service.Client, w)
	if err != nil {
		return err
	}
	if err := checkHippodromes(ctx, service.Client, o.hippodromes, open); err != nil {
		return err
	}
	now := time.Now()
	if err := showMissions(w, horse, record.Missions, o.hippodromes); err != nil {
		return err
	}
	return showRaces(w, rank(horse, record.Missions, open, o.hippodromes, now), o.rows, now)
}

// checkHippodromes returns an error if a name is no type of hippodrome: neither
// an open race nor one of the last results has it.
func checkHippodromes(ctx context.Context, client *horseracing.Client, names []string, races []horseracing.Race) error {
	seen := map[string]string{} // the types, by their names in lower case
	unknown := func() int {
		for _, r := range races {
			seen[strings.ToLower(r.Info.HippodromeType)] = r.Info.HippodromeType
		}
		return slices.IndexFunc(names, func(name string) bool { return name != "" && seen[strings.ToLower(name)] == "" })
	}
	if unknown() < 0 {
		return nil
	}
	results, err := program.Newest(ctx, client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 50, io.Discard)
	if err != nil {
		return err
	}
	races = append(slices.Clone(races), results...)
	if i := unknown(); i >= 0 {
		return program.UsageError(fmt.Sprintf("-hippodromes: no race is run on %q, only on %s",
			names[i], strings.Join(slices.Sorted(maps.Values(seen)), ", ")))
	}
	return nil
}

func showMissions(w io.Writer, horse *horseracing.Horse, missions []horseracing.HorseMission, hippodromes []string) error {
	title := fmt.Sprintf("Unfinished missions of #%d %s, level %d", horse.Number, horse.Name, horse.Level)
	table := program.NewTable(w, title, "PERIOD", "MISSION", "TARGET", "XP", "SUGAR", "WHAT COUNTS")
	for _, m := range missions {
		if !m.Completed {
			table.Row(m.Type, m.Name, m.Count, m.RewardXP, m.RewardSugar, demandOf(&m, hippodromes))
		}
	}
	return table.End()
}

func showRaces(w io.Writer, ranked []candidate, rows int, now time.Time) error {
	title := fmt.Sprintf("Races that serve them: %d", len(ranked))
	if rows < len(ranked) {
		title = fmt.Sprintf("Races that serve them: the best %d of %d", rows, len(ranked))
	}
	table := program.NewTable(w, title, "RACE", "CLOSES IN", "NAME", "HIPPODROME", "FURLONGS", "FEE (TOKENS)", "XP", "SUGAR", "SERVES")
	for _, c := range ranked[:min(rows, len(ranked))] {
		table.Row(c.race.MainRaceID, program.Left(now, c.race.RegistrationDeadline.Time), c.race.Info.Name, c.race.Info.HippodromeType,
			c.race.Length, program.Tokens(c.race.EntryFee), fmt.Sprintf("%.0f", c.xp), fmt.Sprintf("%.0f", c.sugar), strings.Join(c.serves, ", "))
	}
	if err := table.End(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nXP and SUGAR: of each mission served, the reward divided by its target.\n"+
		"A question mark: only if the horse finishes well enough; not in the sums.\n")
	return err
}
