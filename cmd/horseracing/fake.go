package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// fakeOptions are the flags of the command fake.
type fakeOptions struct {
	addr, history string
	seed          uint64
	races         int
	perHour       int
	latency       time.Duration
	limits        []horseracingtest.RequestLimit
	faults        []horseracingtest.Fault
}

func (p *program) fakeCommand() *cobra.Command {
	var o fakeOptions
	c := p.command("fake", "Serve a fake of the service, for programs in any language", cobra.NoArgs, func(c *cobra.Command, _ []string) error {
		server, err := o.start(p)
		if err != nil {
			return err
		}
		defer server.Close()
		server.Inject(o.faults...)
		if err := p.announce(server); err != nil && !isOutputClosed(err) {
			return err
		}
		<-c.Context().Done()
		return nil
	})
	flags := c.Flags()
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen at this `ADDRESS`; port 0 takes a free one")
	flags.StringVar(&o.history, "history", "", "run the finished races in this `FILE` again, one JSON line each, as the command results prints them")
	flags.Uint64Var(&o.seed, "seed", 1, "the same `SEED` gives the same horses, races and keys")
	flags.IntVar(&o.races, "races", 2000, "how many finished `RACES` there are before the start, at most 20000")
	flags.IntVar(&o.perHour, "per-hour", 12, "how many `RACES` open in an hour, at most 3600")
	flags.DurationVar(&o.latency, "latency", 0, "let every response wait this `TIME`, like 20ms")
	flags.Func("limit", "refuse requests beyond this `LIMIT` with status 429: 50/s, 600/m, 60/10s, 50/s:burst=10, inflight=4; can be repeated", func(text string) error {
		limit, err := parseLimit(text)
		o.limits = append(o.limits, limit)
		return err
	})
	flags.Func("fail", "let this `SHARE` of the requests fail, like 5%: half with status 503, half with a dropped connection", func(text string) (err error) {
		o.faults, err = failing(text)
		return err
	})
	c.MarkFlagsMutuallyExclusive("history", "races")
	c.MarkFlagsMutuallyExclusive("history", "per-hour")
	return c
}

// start starts the fake, whose clock runs: from when the first race of a history opens, or
// as that of this computer.
func (o *fakeOptions) start(p *program) (*horseracingtest.Server, error) {
	opts := []horseracingtest.Option{
		horseracingtest.WithAddr(o.addr), horseracingtest.WithSeed(o.seed), horseracingtest.WithHistory(o.races),
		horseracingtest.WithSchedule(o.perHour), horseracingtest.WithLatency(o.latency), horseracingtest.WithRequestLimit(o.limits...),
	}
	ahead := time.Duration(0) // of this computer's clock
	if o.history != "" {
		past, opens, err := readHistory(o.history)
		if err != nil {
			return nil, fmt.Errorf("--history: %w", err)
		}
		opts, ahead = append(opts, past), time.Until(opens)
	}
	opts = append(opts, horseracingtest.WithClock(func() time.Time { return time.Now().Add(ahead) }))
	if p.verbose {
		opts = append(opts, horseracingtest.WithLogger(p.log()))
	}
	return horseracingtest.Start(opts...)
}

// readHistory reads finished races, one JSON line each, and returns when the first of
// them opens.
func readHistory(path string) (past horseracingtest.Option, opens time.Time, err error) {
	text, err := readText(path)
	if err != nil {
		return nil, opens, err
	}
	var races []horseracing.Race
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var race horseracing.Race
		if err := json.Unmarshal(line, &race); err != nil || race.MainRaceID <= 0 || race.StartTime.IsZero() || !race.Finished() {
			return nil, opens, fmt.Errorf("%s, line %d is not a finished race, which has main_race_id, start_time and final_order", path, n)
		}
		races = append(races, race)
	}
	if len(races) == 0 {
		return nil, opens, fmt.Errorf("%s has no race", path)
	}
	past = horseracingtest.WithHistoryOf(slices.Values(races))
	first, err := horseracingtest.Start(horseracingtest.WithInMemory(), past) // its clock stays at the time at which the first race opens
	if err != nil {
		return nil, opens, err
	}
	defer first.Close()
	return past, first.Now(), nil
}

// parseLimit reads a limit: 50/s, 600/m and 60/10s are requests in every window of the clock,
// 50/s:burst=10 is a bucket that holds ten and refills at this rate, and inflight=4 are
// requests at a time.
func parseLimit(text string) (horseracingtest.RequestLimit, error) {
	limit, n, places := horseracingtest.RequestLimit{RetryAfter: "seconds"}, 0, 1
	rate, burst, isBucket := strings.Cut(text, ":burst=")
	count, period, _ := strings.Cut(rate, "/")
	if len(period) == 1 {
		period = "1" + period
	}
	window, err := time.ParseDuration(period)
	if inFlight, ok := strings.CutPrefix(text, "inflight="); ok {
		count, window, err = inFlight, 1, nil
	}
	n, failed := strconv.Atoi(count)
	if isBucket && err == nil {
		places, err = strconv.Atoi(burst)
	}
	switch {
	case err != nil || failed != nil || n < 1 || places < 1 || window <= 0:
		return limit, errors.New("want 50/s, 600/m, 60/10s, 50/s:burst=10 or inflight=4")
	case period == "":
		limit.InFlight = n
	case isBucket:
		limit.PerSecond, limit.Burst = float64(n)/window.Seconds(), places
	default:
		limit.PerWindow, limit.Window = n, window
	}
	return limit, nil
}

// failing returns the faults that let a share of the requests fail: 5% or 0.05.
func failing(text string) ([]horseracingtest.Fault, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	switch {
	case err != nil || !(share >= 0 && share <= 1):
		return nil, fmt.Errorf("want a share between 0%% and 100%%, got %q", text)
	case share == 0:
		return nil, nil
	}
	half := share / 2
	return []horseracingtest.Fault{
		{Probability: half, Status: 503, Body: `{"error":{"code":"injected","message":"this failure was requested with --fail"}}`},
		{Probability: half / (1 - half), ResetAfter: true}, // of those that the first one spares
	}, nil
}

// announce prints what a client needs.
func (p *program) announce(server *horseracingtest.Server) error {
	type user struct {
		Key    string                    `json:"user_key"`
		Horses []horseracing.HorseNumber `json:"horses"`
	}
	line := struct {
		URL    string `json:"url"`
		APIKey string `json:"api_key"`
		Users  []user `json:"users"`
	}{URL: server.URL, APIKey: server.APIKey}
	for i := range server.NumUsers() {
		line.Users = append(line.Users, user{Key: string(server.UserKey(i)), Horses: server.Horses(i)})
	}
	if p.asJSON {
		return p.printJSON(line)
	}
	fmt.Fprintf(p.stdout, "address   %s\nAPI key   %s\n", line.URL, line.APIKey)
	for _, user := range line.Users {
		fmt.Fprintf(p.stdout, "user key  %s  horses %s\n", user.Key, strings.Trim(fmt.Sprint(user.Horses), "[]"))
	}
	_, err := fmt.Fprintf(p.stdout, `
export HORSERACING_BASE_URL=%[2]s HORSERACING_API_KEY='%[1]s' HORSERACING_USER_KEY='%[3]s'

Try:  curl -H 'x-api-key: %[1]s' -H 'content-type: application/json' %[2]s/api/v1/races/open
      curl -X GET -H 'x-api-key: %[1]s' -H 'content-type: application/json' -d '{"tier":5}' %[2]s/api/v2/races/results
Stop: Ctrl-C
`, line.APIKey, line.URL, line.Users[0].Key)
	return err
}
