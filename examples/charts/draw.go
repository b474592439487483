package main

import (
	"cmp"
	"fmt"
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
	{"times", 20 * vg.Centimeter, 10 * vg.Centimeter, drawTimes},
	{"days", 20 * vg.Centimeter, 9 * vg.Centimeter, drawDays},
	{"fees", 20 * vg.Centimeter, 9 * vg.Centimeter, drawFees},
}

// save draws the races and, in a line below, the caption.
func (c chart) save(path, format string, races []horseracing.Race, caption string) error {
	var canvas vg.CanvasWriterTo
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(220))}
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

// drawTimes draws a box for each length, in one panel for each of the busiest
// hippodromes: the middle half of all horses' totals, the median, and whiskers.
func drawTimes(races []horseracing.Race, canvas draw.Canvas) error {
	const panels = 3
	totals := map[string]map[int]plotter.Values{}
	count := map[string]int{}
	for _, r := range races {
		if totals[r.Info.HippodromeName] == nil {
			totals[r.Info.HippodromeName] = map[int]plotter.Values{}
		}
		for _, p := range r.Participants {
			if p.Total > 0 {
				totals[r.Info.HippodromeName][r.Length] = append(totals[r.Info.HippodromeName][r.Length], p.Total)
				count[r.Info.HippodromeName]++
			}
		}
	}
	names := busiest(count, panels)
	if len(names) == 0 {
		return fmt.Errorf("no race has a finishing time")
	}
	row := make([]*plot.Plot, len(names))
	low, high, shortest, longest := math.Inf(1), math.Inf(-1), math.MaxInt, 0
	for i, name := range names {
		p := newPlot("", "length (furlongs)", "")
		if i == 0 {
			p.Y.Label.Text = "total (undocumented unit)"
		}
		for length, values := range totals[name] {
			box, err := plotter.NewBoxPlot(2.6*vg.Millimeter, float64(length), values)
			if err != nil {
				return err
			}
			box.FillColor, box.BoxStyle.Color, box.MedianStyle.Color = pale, blue, orange
			box.MedianStyle.Width = 1.5
			box.WhiskerStyle.Color, box.WhiskerStyle.Dashes, box.CapWidth = blue, nil, 0
			box.GlyphStyle.Radius, box.GlyphStyle.Color = 0.7, blue
			p.Add(box)
			shortest, longest = min(shortest, length), max(longest, length)
		}
		low, high = min(low, p.Y.Min), max(high, p.Y.Max)
		row[i] = p
	}
	for _, p := range row {
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = min(0, low), high, shortLabels{}
		p.X.Min, p.X.Max = float64(shortest)-0.5, float64(longest)+0.5
		p.X.Tick.Marker = wholeNumbers(max(1, (longest-shortest+7)/8))
	}
	title := newPlot("", "", "").Title.TextStyle
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	canvas.FillText(title, vg.Point{X: canvas.Center().X, Y: canvas.Max.Y}, "Finishing times by hippodrome: median, middle half; whiskers reach 1.5 times as far; dots are beyond")
	title.Font.Size = 10
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: 4 * vg.Millimeter, PadTop: 14 * vg.Millimeter}
	for i, c := range plot.Align([][]*plot.Plot{row}, tiles, canvas)[0] {
		row[i].Draw(c)
		// Over the data: the plot's own title would be centered over the axis, too.
		data := row[i].DataCanvas(c)
		canvas.FillText(title, vg.Point{X: data.Center().X, Y: canvas.Max.Y - 8*vg.Millimeter}, names[i])
	}
	return nil
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
// enough to hold some races each.
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
	p := newPlot("Entry fees per "+name+", log scale", "", "entry fee (tokens of 10^18)")
	var medians, upper, lower plotter.XYs
	for begin, end := 0, 0; begin < len(paid); begin = end {
		slot := paid[begin].StartTime.Sub(first) / step
		var fees []float64 // logarithms
		for end = begin; end < len(paid) && paid[end].StartTime.Sub(first)/step == slot; end++ {
			fees = append(fees, math.Log10(tokens(paid[end])))
		}
		slices.Sort(fees)
		x := float64(first.Add(slot*step + step/2).Unix())
		medians = append(medians, plotter.XY{X: x, Y: stat.Quantile(0.5, stat.LinInterp, fees, nil)})
		lower = append(lower, plotter.XY{X: x, Y: stat.Quantile(0.25, stat.LinInterp, fees, nil)})
		upper = append(upper, plotter.XY{X: x, Y: stat.Quantile(0.75, stat.LinInterp, fees, nil)})
	}
	slices.Reverse(lower)
	band, err := plotter.NewPolygon(append(upper, lower...))
	if err != nil {
		return err
	}
	band.Color, band.LineStyle = pale, draw.LineStyle{Color: pale, Width: 2} // the line shows if there is one point alone
	line, points, err := plotter.NewLinePoints(medians)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: blue, Width: 1.5}
	points.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: 1.8, Shape: draw.CircleGlyph{}}
	p.Add(band, line, points)
	p.Legend.Add("median", line, points)
	p.Legend.Add("middle half", band)
	timeAxis(p, first, first.Add((last.Sub(first)/step+1)*step))
	p.Y.Tick.Marker = powersOfTen()
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max+0.3) // room for the legend
	p.Draw(canvas)
	return nil
}

// tokens returns the fee in tokens of 10^18 units, as exactly as drawing needs.
func tokens(r horseracing.Race) float64 {
	fee, _ := strconv.ParseFloat(r.EntryFee.Decimal(18), 64) // Decimal writes nothing else
	return fee
}
