package main

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A chart draws races onto a canvas.
type chart struct {
	name          string
	width, height vg.Length
	draw          func([]race, draw.Canvas) error
}

var charts = []chart{
	{"times", 20 * vg.Centimeter, 10 * vg.Centimeter, drawTimes},
	{"days", 20 * vg.Centimeter, 9 * vg.Centimeter, drawDays},
	{"fees", 20 * vg.Centimeter, 9 * vg.Centimeter, drawFees},
	{"lanes", 20 * vg.Centimeter, 10 * vg.Centimeter, drawLanes},
}

// save draws the races and, in a line below, the caption.
func (c chart) save(path, format string, races []race, caption string) error {
	var canvas vg.CanvasWriterTo
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(110))}
	case "svg":
		canvas = vgsvg.NewWith(vgsvg.UseWH(c.width, c.height))
	}
	whole := draw.NewCanvas(canvas, c.width, c.height)
	if err := c.draw(races, margin(whole)); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	whole.FillText(captionStyle(), vg.Point{X: whole.Center().X, Y: 2 * vg.Millimeter}, caption)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// drawTimes draws a box for each length, in one panel for each of the busiest
// hippodromes: the middle half of all horses' totals, the median, and whiskers.
func drawTimes(races []race, canvas draw.Canvas) error {
	const panels = 3
	totals := map[string]map[int]plotter.Values{}
	count := map[string]int{}
	for _, r := range races {
		if totals[r.hippodrome] == nil {
			totals[r.hippodrome] = map[int]plotter.Values{}
		}
		for _, p := range r.runners {
			if p.total > 0 {
				totals[r.hippodrome][r.length] = append(totals[r.hippodrome][r.length], p.total)
				count[r.hippodrome]++
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
	canvas.FillText(title, vg.Point{X: canvas.Center().X, Y: canvas.Max.Y}, "Finishing times by hippodrome: median, middle half, whiskers")
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
func drawDays(races []race, canvas draw.Canvas) error {
	count := map[int64]int{}
	for _, r := range races {
		count[r.start.Unix()/int64(day.Seconds())]++
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
func drawFees(races []race, canvas draw.Canvas) error {
	paid := slices.DeleteFunc(slices.Clone(races), func(r race) bool { return r.fee <= 0 }) // a log scale has no zero
	if len(paid) == 0 {
		return fmt.Errorf("no race has an entry fee")
	}
	slices.SortFunc(paid, func(a, b race) int { return a.start.Compare(b.start) })
	first, last := paid[0].start.Truncate(day), paid[len(paid)-1].start
	step, name := day, "day"
	if last.Sub(first) > 45*day {
		step, name = 7*day, "week"
	}
	if last.Sub(first) > 700*day {
		step, name = 30*day, "30 days"
	}
	p := newPlot("Entry fees per "+name+", log scale", "", "entry fee (tokens of 10^18)")
	var medians, upper, lower plotter.XYs
	// segment draws what was gathered: a gap without races ends a segment.
	segment := func() error {
		slices.Reverse(lower)
		band, err := plotter.NewPolygon(append(upper, lower...))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle = pale, draw.LineStyle{Color: pale, Width: 2} // the line shows where a segment is one point
		line, points, err := plotter.NewLinePoints(medians)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: blue, Width: 1.5}
		points.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: 1.8, Shape: draw.CircleGlyph{}}
		if p.Add(band, line, points); medians[0].X <= float64(first.Add(step).Unix()) {
			p.Legend.Add("median", line, points)
			p.Legend.Add("middle half", band)
		}
		medians, upper, lower = nil, nil, nil
		return nil
	}
	for begin, end := 0, 0; begin < len(paid); begin = end {
		slot := paid[begin].start.Sub(first) / step
		var fees []float64 // logarithms
		for end = begin; end < len(paid) && paid[end].start.Sub(first)/step == slot; end++ {
			fees = append(fees, math.Log10(paid[end].fee))
		}
		slices.Sort(fees)
		x := float64(first.Add(slot*step + step/2).Unix())
		if n := len(medians); n > 0 && x-medians[n-1].X > 1.5*step.Seconds() {
			if err := segment(); err != nil {
				return err
			}
		}
		medians = append(medians, plotter.XY{X: x, Y: quantile(fees, 0.5)})
		lower = append(lower, plotter.XY{X: x, Y: quantile(fees, 0.25)})
		upper = append(upper, plotter.XY{X: x, Y: quantile(fees, 0.75)})
	}
	if err := segment(); err != nil {
		return err
	}
	timeAxis(p, first, first.Add((last.Sub(first)/step+1)*step))
	p.Y.Tick.Marker = powersOfTen()
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max+0.3) // room for the legend
	p.Draw(canvas)
	return nil
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// drawLanes draws a table of wins over starts, a row for each of the busiest
// horses, a column for each lane, the darker the more often it won.
func drawLanes(races []race, canvas draw.Canvas) error {
	const horses = 10
	type key struct {
		horse int64
		lane  int
	}
	starts, wins, busy, lanes := map[key]int{}, map[key]int{}, map[int64]int{}, 0
	for _, r := range races {
		for _, p := range r.runners {
			if p.lane == 0 || p.place == 0 {
				continue
			}
			k := key{p.horse, p.lane}
			starts[k]++
			busy[p.horse]++
			lanes = max(lanes, p.lane)
			if p.place == 1 {
				wins[k]++
			}
		}
	}
	rows := busiest(busy, horses)
	if len(rows) == 0 {
		return fmt.Errorf("no race has lanes and places")
	}
	grid := winRates{rows: len(rows), lanes: lanes, rate: map[[2]int]float64{}}
	highest := 0.01
	for k, n := range starts {
		if slices.Contains(rows, k.horse) {
			highest = max(highest, float64(wins[k])/float64(n))
		}
	}
	labels := plotter.XYLabels{}
	var styles []text.Style
	names := make([]string, len(rows))
	p := newPlot("Wins / starts by lane, the busiest horses", "lane", "horse (starts)")
	for y, horse := range rows {
		row := len(rows) - 1 - y // the busiest on top
		names[row] = fmt.Sprintf("%d (%d)", horse, busy[horse])
		for lane := 1; lane <= lanes; lane++ {
			k := key{horse, lane}
			if starts[k] == 0 {
				continue
			}
			rate := float64(wins[k]) / float64(starts[k])
			grid.rate[[2]int{lane, row}] = rate
			style := p.X.Tick.Label
			style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
			styles = append(styles, style)
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(lane), Y: float64(row)})
			labels.Labels = append(labels.Labels, fmt.Sprintf("%d/%d", wins[k], starts[k]))
		}
	}
	heat := plotter.NewHeatMap(grid, shades{})
	heat.Min, heat.Max, heat.NaN = 0, highest, color.White
	cells, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	cells.TextStyle = styles
	p.Add(heat, cells)
	p.NominalY(names...)
	p.X.Tick.Marker, p.X.Tick.Length = wholeNumbers(1), 0
	p.X.Padding = 0
	p.Draw(canvas)
	return nil
}

// winRates is the grid of a heat map; a cell without a start is not a number.
type winRates struct {
	rows, lanes int
	rate        map[[2]int]float64
}

func (w winRates) Dims() (columns, rows int) { return w.lanes, w.rows }
func (w winRates) X(column int) float64      { return float64(column + 1) }
func (w winRates) Y(row int) float64         { return float64(row) }
func (w winRates) Z(column, row int) float64 {
	if rate, ok := w.rate[[2]int{column + 1, row}]; ok {
		return rate
	}
	return math.NaN()
}
