package main

import (
	"errors"
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

const width, height = 16 * vg.Centimeter, 9 * vg.Centimeter

// charts are the pictures by the names of their files.
var charts = []struct {
	name string
	draw func([]horseracing.Race) (*plot.Plot, error)
}{{"times", drawTimes}, {"fees", drawFees}}

// save writes a plot and, in a line below, the caption.
func save(path, format string, p *plot.Plot, caption string) error {
	var canvas vg.CanvasWriterTo = vgsvg.NewWith(vgsvg.UseWH(width, height))
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(160))}
	}
	whole := draw.NewCanvas(canvas, width, height)
	p.Draw(margin(whole))
	whole.FillText(captionStyle(), vg.Point{X: whole.Center().X, Y: 2 * vg.Millimeter}, caption)
	return program.WriteFile(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// drawTimes draws a box for each hippodrome: how much the totals there differ from
// the median total of their length. A hippodrome has its own line, in the order of
// the names, so that two pictures can be compared.
func drawTimes(races []horseracing.Race) (*plot.Plot, error) {
	byLength := map[int][]float64{}
	for _, r := range races {
		for _, p := range r.Participants {
			if p.Total > 0 {
				byLength[r.Length] = append(byLength[r.Length], p.Total)
			}
		}
	}
	if len(byLength) == 0 {
		return nil, errors.New("no race has a finishing time")
	}
	medians := map[int]float64{}
	for length, totals := range byLength {
		medians[length] = quantile(0.5, totals)
	}
	differences := map[string]plotter.Values{}
	for _, r := range races {
		for _, p := range r.Participants {
			if p.Total > 0 {
				differences[r.Info.HippodromeName] = append(differences[r.Info.HippodromeName], 100*(p.Total/medians[r.Length]-1))
			}
		}
	}
	p := newPlot("Finishing times by hippodrome", "% from the median of the length; a box is the middle half", "hippodrome (totals)")
	names := slices.Sorted(maps.Keys(differences))
	slices.Reverse(names) // the first one on top
	for i, name := range names {
		box, err := plotter.NewBoxPlot(vg.Points(min(14, 150/float64(len(names)))), float64(i), differences[name])
		if err != nil {
			return nil, err
		}
		box.Horizontal, box.FillColor, box.Outside = true, pale, nil
		box.BoxStyle.Color, box.WhiskerStyle.Color, box.MedianStyle = blue, blue, draw.LineStyle{Color: ink, Width: 2}
		p.Add(box)
		names[i] = fmt.Sprintf("%s (%d)", name, len(differences[name]))
	}
	p.NominalY(names...)
	p.X.Tick.Marker = shortLabels{}
	return p, nil
}

// addLine adds points that a line connects.
func addLine(p *plot.Plot, xys plotter.XYs) error {
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: blue, Width: 1.5}
	points.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: 1.8, Shape: draw.CircleGlyph{}}
	p.Add(line, points)
	return nil
}

func quantile(q float64, values []float64) float64 {
	return stat.Quantile(q, stat.LinInterp, slices.Sorted(slices.Values(values)), nil)
}

// drawFees draws the median fee and the middle half, over spans of time long
// enough to hold some races each, with a gap where there was none.
func drawFees(races []horseracing.Race) (*plot.Plot, error) {
	paid := slices.DeleteFunc(slices.Clone(races), func(r horseracing.Race) bool { return tokens(r) <= 0 }) // a log scale has no zero
	if len(paid) == 0 {
		return nil, errors.New("no race has an entry fee")
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
	p := newPlot("Entry fees per "+name, "the line is the median, the band the middle half", "entry fee (tokens, log scale)")
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
			return nil, err
		}
		band.Color, band.LineStyle = pale, draw.LineStyle{Color: pale, Width: 2} // the line shows if there is one point alone
		p.Add(band)
		if err := addLine(p, medians); err != nil {
			return nil, err
		}
	}
	timeAxis(p, first, first.Add(time.Duration(len(fees))*step))
	p.Y.Tick.Marker = powersOfTen()
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)
	return p, nil
}

// tokens returns the fee in tokens, as exactly as drawing needs.
func tokens(r horseracing.Race) float64 {
	fee, _ := strconv.ParseFloat(r.EntryFee.FormatUnits(18), 64) // nothing else is written
	return fee
}
