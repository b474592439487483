// Charts draws three pictures of finished races, one for each question:
//
//	fees.png    How are entry fees spread in each tier?
//	starts.png  How many races are there a day, and when do they start?
//	times.png   How do times differ by length, and how far are they spread?
//
//	go -C examples/charts run . -out /tmp/charts -days 30
//
// Each picture says how many races it shows, from which time and service, and in which units.
// If the connection is lost, each page is retried for half a minute. Then the program ends with
// the error, and draws nothing: a picture of half the races would mislead.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"log"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
)

func main() {
	out := flag.String("out", ".", "the `FOLDER` for the pictures")
	days := flag.Int("days", 30, "draw the races of so many `DAYS`")
	tiers := flag.String("tiers", "1,2,3,4,5", "the `IDS` of the tiers in fees.png; the others show the last one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, fake, err := service.Connect(horseracing.WithSkipHandler(func(_ context.Context, err error) { log.Print("left out: ", err) }))
	if err != nil {
		log.Fatal(err)
	}
	source := client.BaseURL()
	if fake != nil {
		source = "invented by a fake of the service"
	}
	byTier, last, err := read(ctx, client, *tiers, *days)
	if err != nil {
		log.Fatal(err)
	}
	if err := draw(byTier, last, *days, source, *out); err != nil {
		log.Fatal(err)
	}
}

// read returns the races of each tier that started within the last days, and the last tier.
func read(ctx context.Context, client *horseracing.Client, tiers string, days int) (byTier map[horseracing.TierID][]horseracing.Race, last horseracing.TierID, err error) {
	byTier = map[horseracing.TierID][]horseracing.Race{}
	for text := range strings.SplitSeq(tiers, ",") {
		id, err := strconv.Atoi(text)
		if err != nil {
			return nil, 0, fmt.Errorf("-tiers: %w", err)
		}
		last = horseracing.TierID(id)
		query := horseracing.ResultsQuery{Tier: last, Since: time.Now().AddDate(0, 0, -days), Concurrency: 4}
		for race, err := range client.Races.Results(query).All(ctx) {
			if err != nil {
				return nil, 0, err
			}
			byTier[last] = append(byTier[last], *race)
		}
	}
	return byTier, last, nil
}

// draw writes the three pictures into a folder.
func draw(byTier map[horseracing.TierID][]horseracing.Race, last horseracing.TierID, days int, source, folder string) error {
	if len(byTier[last]) == 0 {
		return fmt.Errorf("no race of tier %d has finished in the last %d days", last, days)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var all []horseracing.Race
	for _, races := range byTier {
		all = append(all, races...)
	}
	fees, err := drawFees(byTier, caption(all, "these tiers", source))
	if err != nil {
		return err
	}
	of := caption(byTier[last], fmt.Sprint("tier ", last), source)
	starts, err := drawStarts(byTier[last], of)
	if err != nil {
		return err
	}
	times, err := drawTimes(byTier[last], of)
	if err != nil {
		return err
	}
	for name, p := range map[string]*plot.Plot{"fees.png": fees, "starts.png": starts, "times.png": times} {
		path := filepath.Join(folder, name)
		if err := save(p, path); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// save writes a picture with a margin.
func save(p *plot.Plot, path string) error {
	const margin = 4 * vg.Millimeter
	canvas := vgimg.NewWith(vgimg.UseWH(18*vg.Centimeter, 11*vg.Centimeter), vgimg.UseDPI(160))
	p.Draw(vgdraw.Crop(vgdraw.New(canvas), margin, -margin, margin, -margin))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(file)
	return errors.Join(err, file.Close())
}

// caption says what a picture shows.
func caption(races []horseracing.Race, of, source string) string {
	byStart := func(a, b horseracing.Race) int { return a.StartTime.Compare(b.StartTime.Time) }
	first, last := slices.MinFunc(races, byStart), slices.MaxFunc(races, byStart)
	return fmt.Sprintf("%d races of %s, %s to %s (UTC); source: %s", len(races), of,
		first.StartTime.Format("2 Jan 2006"), last.StartTime.Format("2 Jan 2006"), source)
}

// drawFees draws a box for the fees of each tier. Races without a fee have no place on a logarithmic axis.
func drawFees(byTier map[horseracing.TierID][]horseracing.Race, about string) (*plot.Plot, error) {
	p := newPlot("How are entry fees spread in each tier?", "tier (races with a fee)", "entry fee (tokens of 10¹⁸ units, logarithmic)", about)
	var names []string
	for _, tier := range slices.Sorted(maps.Keys(byTier)) {
		var fees plotter.Values // logarithms
		for _, race := range byTier[tier] {
			if fee, err := strconv.ParseFloat(race.EntryFee.FormatUnits(horseracing.TokenDecimals), 64); err == nil && fee > 0 {
				fees = append(fees, math.Log10(fee))
			}
		}
		if err := addBox(p, len(names), fees); err != nil {
			return nil, err
		}
		name := fmt.Sprint("tier ", tier)
		if races := byTier[tier]; len(races) > 0 && races[0].Tier != "" {
			name = string(races[0].Tier)
		}
		names = append(names, fmt.Sprintf("%s (%d)", name, len(fees)))
	}
	nameX(p, names)
	p.Y.Min, p.Y.Max = p.Y.Min-0.1, p.Y.Max+0.1 // the whiskers do not touch the edge
	p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) (ticks []plot.Tick) {
		for e := math.Floor(low); e <= high; e++ {
			for _, digit := range []float64{1, 2, 5} {
				if at := e + math.Log10(digit); low <= at && at <= high {
					ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(digit*math.Pow(10, e), 'g', 6, 64)})
				}
			}
		}
		return ticks
	})
	return p, nil
}

// drawStarts draws how many races start in each hour of a day, on average over the days that have any: the
// history may be shorter than what was asked for.
func drawStarts(races []horseracing.Race, about string) (*plot.Plot, error) {
	hours, names := make(plotter.Values, 24), make([]string, 24)
	dates := map[string]bool{}
	for _, race := range races {
		dates[race.StartTime.UTC().Format(time.DateOnly)] = true
	}
	days := float64(len(dates))
	for _, race := range races {
		hours[race.StartTime.UTC().Hour()] += 1 / days
	}
	for hour := range names {
		if hour%3 == 0 {
			names[hour] = fmt.Sprintf("%02d:00", hour)
		}
	}
	title := fmt.Sprintf("How many races are there a day, and when? %.1f a day", float64(len(races))/days)
	p := newPlot(title, "hour of the start (UTC)", fmt.Sprintf("races that start in it, mean of %d days", len(dates)), about)
	bars, err := plotter.NewBarChart(hours, vg.Points(14))
	if err != nil {
		return nil, err
	}
	bars.Color, bars.LineStyle.Width = blue, 0
	p.Add(bars)
	p.Y.Max *= 1.08 // above the highest bar
	nameX(p, names)
	return p, nil
}

// drawTimes draws a box for the totals of each length.
func drawTimes(races []horseracing.Race, about string) (*plot.Plot, error) {
	p := newPlot("How do times differ by length, and how far are they spread?", "length in furlongs (times)", "total of a participant (unit not documented)", about)
	byLength := map[int]plotter.Values{}
	for _, race := range races {
		for _, participant := range race.Participants {
			if participant.Total > 0 {
				byLength[race.Length] = append(byLength[race.Length], participant.Total)
			}
		}
	}
	var names []string
	for _, length := range slices.Sorted(maps.Keys(byLength)) {
		if err := addBox(p, len(names), byLength[length]); err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprintf("%d\n(%d)", length, len(byLength[length])))
	}
	nameX(p, names)
	return p, nil
}

// Colours that people with any colour vision can distinguish.
var (
	ink  = color.NRGBA{0x22, 0x2b, 0x33, 0xff}
	blue = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	pale = color.NRGBA{0xb9, 0xd9, 0xec, 0xff}
	grid = color.NRGBA{0xdd, 0xe0, 0xe3, 0xff}
)

// newPlot returns an empty plot, with the caption about below the label of the horizontal axis.
func newPlot(title, x, y, about string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x+"\n\n"+about, y
	p.Title.Padding = vg.Points(8)
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 13, &p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10, &p.X.Tick.Label: 9, &p.Y.Tick.Label: 9,
	} {
		style.Font, style.Color = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), ink
	}
	lines := plotter.NewGrid()
	lines.Vertical.Width, lines.Horizontal.Color = 0, grid
	p.Add(lines)
	return p
}

// nameX names the positions of the horizontal axis, with room beside the first and the last one.
func nameX(p *plot.Plot, names []string) {
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.7, float64(len(names))-0.3
}

// addBox adds a box plot of values at a position of the horizontal axis, or nothing if there are no values.
func addBox(p *plot.Plot, place int, values plotter.Values) error {
	if len(values) == 0 {
		return nil
	}
	box, err := plotter.NewBoxPlot(vg.Points(18), float64(place), values)
	if err != nil {
		return err
	}
	box.FillColor, box.BoxStyle.Color, box.WhiskerStyle.Color = pale, blue, blue
	box.MedianStyle.Color, box.MedianStyle.Width = ink, 2
	box.GlyphStyle.Color, box.GlyphStyle.Radius = blue, 1
	p.Add(box)
	return nil
}
