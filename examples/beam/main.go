// Beam reads the finished races of several years as an Apache Beam pipeline. It is for crawls
// that are too large for one machine. Each element is a day: a worker reads its races with a
// pager, and writes them to a file of JSON lines, as the service sent them.
//
//	go -C examples/beam run . -out /tmp/history -since 2026-01-01
//
// It runs on Prism, the runner inside Beam's Go SDK, in this process; --runner chooses another
// (see README.md). A day is written when it has been over for an hour, because races may still
// finish after its end. Run it again to read the days that have no file yet. Each run also
// reads the days of the last week again, and adds the races that have finished since.
//
// If the connection is lost, a worker retries each page for half a minute. Then its day fails, and
// the runner repeats it or ends the job. A file appears only when its day is complete.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
)

func init() { register.DoFn2x1[context.Context, string, error](&readDay{}) }

func main() {
	tier := flag.Int("tier", int(horseracing.TierOmega), "tier `ID`")
	out := flag.String("out", "history", "the `FOLDER` for the files, a path or gs://bucket/folder")
	since := flag.String("since", time.Now().UTC().AddDate(0, -1, 0).Format(time.DateOnly), "the first `DAY` (UTC)")
	before := flag.String("before", time.Now().UTC().Format(time.DateOnly), "the `DAY` after the last one; by default today, which is not over")
	flag.Parse() // Beam and its runners have about a hundred flags more
	beam.Init()  // on a worker of another machine this does the work and does not return
	ctx := context.Background()

	if *runners.Runner == "" || *runners.Runner == "prism" { // whose workers are this process; others have an environment of their own
		_, fake, err := service.Connect()
		if fake != nil {
			err = errors.Join(os.Setenv("HORSERACING_BASE_URL", fake.URL), os.Setenv("HORSERACING_API_KEY", fake.APIKey))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := crawl(ctx, readDay{*tier, *out}, *since, *before, time.Now()); err != nil {
		log.Fatal(err)
	}
}

// crawl reads the days whose file is missing or may lack races, and reports what the workers counted.
func crawl(ctx context.Context, read readDay, since, before string, now time.Time) error {
	days, err := read.missing(ctx, since, before, now)
	if err != nil || len(days) == 0 {
		return err
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	beam.ParDo0(scope, &read, beam.Reshuffle(scope, beam.CreateList(scope, days))) // any worker takes any day
	result, err := beamx.RunWithMetrics(ctx, pipeline)
	if err != nil {
		return err
	}
	sums := map[string]int64{}
	if result != nil { // a job that was only submitted has none
		for _, counter := range result.Metrics().AllMetrics().Counters() {
			sums[counter.Name()] += counter.Result()
		}
	}
	log.Printf("%d days, %d races, in %s", len(days), sums["races"], read.Folder)
	if n := sums["overflows"]; n > 0 {
		return fmt.Errorf("incomplete: at %d instants a whole page of races starts together, and the listing cannot show whether there are more", n)
	}
	return nil
}

// readDay is the DoFn that reads a day and writes its file. Its exported fields are sent to the
// workers. The runner stores and shows them, so neither the address nor the key is among them.
type readDay struct {
	Tier   int
	Folder string
}

var (
	races     = beam.NewCounter("horseracing", "races")
	overflows = beam.NewCounter("horseracing", "overflows")

	// A process has one client for all its days, which share what it learns about the rate limit.
	// Add WithLimiter here to share a limit with other processes.
	connect = sync.OnceValues(func() (*horseracing.Client, error) { return horseracing.NewClientFromEnv() })
)

const (
	lookback = time.Hour          // after which the races of a day have finished, apart from a few; as that of a Follower
	settled  = 7 * 24 * time.Hour // after which all have
)

// missing returns the days from since to before, without before itself, that are over by lookback,
// and have no file or may lack races in it.
func (r *readDay) missing(ctx context.Context, since, before string, now time.Time) (days []string, err error) {
	first, errSince := time.Parse(time.DateOnly, since)
	end, errBefore := time.Parse(time.DateOnly, before)
	if err := errors.Join(errSince, errBefore); err != nil {
		return nil, err
	}
	fs, err := filesystem.New(ctx, r.Folder)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	files, err := fs.List(ctx, r.Folder+"/*.jsonl")
	if err != nil {
		return nil, err
	}
	for day := first; day.Before(end); day = day.AddDate(0, 0, 1) {
		name, over := day.Format(time.DateOnly), now.Sub(day.AddDate(0, 0, 1))
		if over >= lookback && (over < settled || !slices.Contains(files, r.file(name))) {
			days = append(days, name)
		}
	}
	return days, nil
}

func (r *readDay) file(day string) string {
	return fmt.Sprintf("%s/tier%d-%s.jsonl", strings.TrimRight(r.Folder, "/"), r.Tier, day)
}

// ProcessElement reads a day.
func (r *readDay) ProcessElement(ctx context.Context, day string) error {
	client, err := connect()
	if err != nil {
		return err
	}
	since, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	pager := client.Races.Results(horseracing.ResultsQuery{
		Tier: horseracing.TierID(r.Tier), Since: since, Before: since.AddDate(0, 0, 1), Concurrency: 2,
	})
	var lines bytes.Buffer
	for isDone := false; !isDone; {
		isDone = true
		for entry, err := range pager.Entries(ctx) {
			_, isOverflow := errors.AsType[*horseracing.TieOverflowError](err)
			switch {
			case isOverflow:
				overflows.Inc(ctx, 1)
				isDone = false // the error ended the loop: range again to continue
				continue
			case err != nil && entry.JSON == nil:
				return fmt.Errorf("%s: %w", day, err)
			case err != nil: // this client cannot read the entry, but whoever reads the file perhaps can
				isDone = false
			}
			if err := json.Compact(&lines, entry.JSON); err != nil {
				return fmt.Errorf("%s: %w", day, err)
			}
			lines.WriteByte('\n')
			races.Inc(ctx, 1)
		}
	}
	return r.write(ctx, day, lines.Bytes())
}

// write writes the file of a day aside, and then gives it its name. It keeps the races of an
// earlier file that are not listed any more.
func (r *readDay) write(ctx context.Context, day string, data []byte) error {
	fs, err := filesystem.New(ctx, r.Folder)
	if err != nil {
		return err
	}
	defer fs.Close()
	earlier, err := fs.List(ctx, r.file(day))
	if err != nil {
		return err
	}
	for _, file := range earlier {
		lines, err := filesystem.Read(ctx, fs, file)
		if err != nil {
			return err
		}
		data = merge(data, lines)
	}
	aside := r.file(day) + "." + rand.Text() + ".part" // a runner may let two workers read a day
	if err := filesystem.Write(ctx, fs, aside, data); err != nil {
		return err
	}
	return filesystem.Rename(ctx, fs, aside, r.file(day))
}

// merge appends the earlier lines of races that have no line yet.
func merge(lines, earlier []byte) []byte {
	has := map[string]bool{}
	for line := range bytes.Lines(lines) {
		has[identity(line)] = true
	}
	for line := range bytes.Lines(earlier) {
		if !has[identity(line)] {
			lines = append(lines, line...)
		}
	}
	return lines
}

// identity returns what distinguishes a race from others: its id with its start.
func identity(line []byte) string {
	var race struct {
		ID    json.RawMessage `json:"main_race_id"`
		Start json.RawMessage `json:"start_time"`
	}
	if json.Unmarshal(line, &race) != nil || race.ID == nil {
		return string(line)
	}
	return string(race.ID) + " " + string(race.Start)
}
