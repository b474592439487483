package main

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// A chart draws races onto a canvas.
type chart struct {
	name          string
	width, height vg.Length
	draw          func([]horseracing.Race, draw.Canvas) error
}

var charts = []chart{
	{"times", 16 * vg.Centimeter, 9 * vg.Centimeter, drawTimes},
	{"days", 16 * vg.Centimeter, 9 * vg.Centimeter, drawDays},
	{"fees", 16 * vg.Centimeter, 9 * vg.Centimeter, drawFees},
}

// save draws the races and, in a line below, the caption.
func (c chart) save(path, format string, races []horseracing.Race, caption string) error {
	var canvas vg.CanvasWriterTo
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(160))}
	case "svg":
		canvas = vgsvg.NewWith(vgsvg.UseWH(c.width, c.height))
	}
	whole := draw.NewCanvas(canvas, c.width, c.height)
	if err := c.draw(races, margin(whole)); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	whole.FillText(captionStyle(), vg.Point{X: whole.Center().X, Y: 2 * vg.Millimeter}, caption)
	return program.WriteFile(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// drawTimes draws a line for each of the busiest hippodromes: how much the median
// total of a length there differs from the median of that length everywhere.
func drawTimes(races []horseracing.Race, canvas draw.Canvas) error {
	const lines, enough = 5, 20 // totals that make a median
	everywhere := ""            // no hippodrome has this name
	totals := map[string]map[int][]float64{everywhere: {}}
	count := map[string]int{}
	for _, r := range races {
		name := r.Info.HippodromeName
		if totals[name] == nil {
			totals[name] = map[int][]float64{}
		}
		for _, p := range r.Participants {
			if p.Total > 0 && name != everywhere {
				totals[name][r.Length] = append(totals[name][r.Length], p.Total)
				totals[everywhere][r.Length] = append(totals[everywhere][r.Length], p.Total)
				count[name]++
			}
		}
	}
	if len(count) == 0 {
		return fmt.Errorf("no race has a finishing time")
	}
	p := newPlot("Finishing times by hippodrome", "length (furlongs)", "% from the median of the length")
	for i, name := range busiest(count, lines) {
		var points plotter.XYs
		for _, length := range slices.Sorted(maps.Keys(totals[name])) {
			if here := totals[name][length]; len(here) >= enough {
				points = append(points, plotter.XY{X: float64(length), Y: 100 * (quantile(0.5, here)/quantile(0.5, totals[everywhere][length]) - 1)})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, err := addLine(p, points, palette[i])
		if err != nil {
			return err
		}
		p.Legend.Add(name, line...)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = wholeNumbers(1), shortLabels{}
	p.X.Min, p.X.Max = p.X.Min-0.5, p.X.Max+0.5
	height := p.Y.Max - p.Y.Min
	p.Y.Min, p.Y.Max = p.Y.Min-height/20, p.Y.Max+height/3 // room for the legend
	p.Draw(canvas)
	return nil
}

// addLine adds points that a line connects, and returns what a legend shows of them.
func addLine(p *plot.Plot, xys plotter.XYs, c color.Color) ([]plot.Thumbnailer, error) {
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return nil, err
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: 1.5}
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 1.8, Shape: draw.CircleGlyph{}}
	p.Add(line, points)
	return []plot.Thumbnailer{line, points}, nil
}

func quantile(q float64, values []float64) float64 {
	return stat.Quantile(q, stat.LinInterp, slices.Sorted(slices.Values(values)), nil)
}

// busiest returns the n keys with the highest counts, highest first.
func busiest[K cmp.Ordered](count map[K]int, n int) []K {
	keys := slices.SortedFunc(maps.Keys(count), func(a, b K) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return keys[:min(n, len(keys))]
}

// drawDays draws a line up for each day, and the mean of each week around it.
func drawDays(races []horseracing.Race, canvas draw.Canvas) error {
	count := map[int64]int{}
	for _, r := range races {
		count[r.StartTime.Unix()/int64(day.Seconds())]++
	}
	days := slices.Sorted(maps.Keys(count))
	first, last := days[0], days[len(days)-1]
	p := newPlot("Races per day", "", "finished races a day (UTC)")
	width := vg.Points(max(0.6, min(12, 420/float64(last-first+1))))
	mean := plotter.XYs{}
	for d := first; d <= last; d++ {
		x := float64(d) * day.Seconds()
		if n := count[d]; n > 0 {
			stick, err := plotter.NewLine(plotter.XYs{{X: x, Y: 0}, {X: x, Y: float64(n)}})
			if err != nil {
				return err
			}
			stick.LineStyle = draw.LineStyle{Color: pale, Width: width}
			p.Add(stick)
			if d == days[0] {
				p.Legend.Add("one day", stick)
			}
		}
		sum, span := 0, 0
		for e := max(first, d-3); e <= min(last, d+3); e++ {
			sum, span = sum+count[e], span+1
		}
		mean = append(mean, plotter.XY{X: x, Y: float64(sum) / float64(span)})
	}
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: blue, Width: 1.5}
	p.Add(line)
	p.Legend.Add("mean of 7 days", line)
	timeAxis(p, time.Unix(first*int64(day.Seconds()), 0).Add(-day/2), time.Unix(last*int64(day.Seconds()), 0).Add(day/2))
	p.Y.Min = 0
	p.Y.Max *= 1.25 // room for the legend
	p.Y.Tick.Marker = shortLabels{}
	p.Draw(canvas)
	return nil
}

// drawFees draws the median fee and the middle half, over spans of time long
// enough to hold some races each, with a gap where there was none.
func drawFees(races []horseracing.Race, canvas draw.Canvas) error {
	paid := slices.DeleteFunc(slices.Clone(races), func(r horseracing.Race) bool { return tokens(r) <= 0 }) // a log scale has no zero
	if len(paid) == 0 {
		return fmt.Errorf("no race has an entry fee")
	}
	slices.SortFunc(paid, func(a, b horseracing.Race) int { return a.StartTime.Compare(b.StartTime.Time) })
	first, last := paid[0].StartTime.Truncate(day), paid[len(paid)-1].StartTime.Time
	step, name := day, "day"
	if last.Sub(first) > 45*day {
		step, name = 7*day, "week"
	}
	if last.Sub(first) > 700*day {
		step, name = 30*day, "30 days"
	}
	fees := make([][]float64, last.Sub(first)/step+1) // logarithms, of each span
	for _, r := range paid {
		i := r.StartTime.Sub(first) / step
		fees[i] = append(fees[i], math.Log10(tokens(r)))
	}
	p := newPlot("Entry fees per "+name+", log scale", "", "entry fee (tokens of 10^18)")
	for i := 0; i < len(fees); i++ {
		var medians, upper, lower plotter.XYs
		for ; i < len(fees) && len(fees[i]) > 0; i++ {
			x := float64(first.Add(time.Duration(i)*step + step/2).Unix())
			medians = append(medians, plotter.XY{X: x, Y: quantile(0.5, fees[i])})
			lower = append(lower, plotter.XY{X: x, Y: quantile(0.25, fees[i])})
			upper = append(upper, plotter.XY{X: x, Y: quantile(0.75, fees[i])})
		}
		if len(medians) == 0 {
			continue
		}
		slices.Reverse(lower)
		band, err := plotter.NewPolygon(append(upper, lower...))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle = pale, draw.LineStyle{Color: pale, Width: 2} // the line shows if there is one point alone
		p.Add(band)
		line, err := addLine(p, medians, blue)
		if err != nil {
			return err
		}
		if len(medians) == i { // the first ones
			p.Legend.Add("median", line...)
			p.Legend.Add("middle half", band)
		}
	}
	timeAxis(p, first, first.Add(time.Duration(len(fees))*step))
	p.Y.Tick.Marker = powersOfTen()
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max+0.3) // room for the legend
	p.Draw(canvas)
	return nil
}

// tokens returns the fee in tokens of 10^18 units, as exactly as drawing needs.
func tokens(r horseracing.Race) float64 {
	fee, _ := strconv.ParseFloat(r.EntryFee.FormatUnits(18), 64) // Decimal writes nothing else
	return fee
}
