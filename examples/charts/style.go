package main

import (
	"image/color"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that people with any colour vision can distinguish, and that print well.
var (
	ink   = color.NRGBA{0x22, 0x2b, 0x33, 0xff}
	faint = color.NRGBA{0x3d, 0x46, 0x4e, 0xff}
	quiet = color.NRGBA{0xb8, 0xbe, 0xc4, 0xff}
	blue  = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	pale  = color.NRGBA{0xb9, 0xd9, 0xec, 0xff}
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// newPlot returns an empty plot in the style of all: one typeface, thin axes,
// a quiet horizontal grid.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 3 * vg.Millimeter
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 12, &p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10,
		&p.X.Tick.Label: 9, &p.Y.Tick.Label: 9,
	} {
		style.Font, style.Color = font.From(sans, size), ink
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink, ink
		a.Label.Padding = 1.5 * vg.Millimeter
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal.Color = 0, quiet
	p.Add(grid)
	return p
}

// margin keeps the drawing off the edges of the picture, and leaves room for
// the caption.
func margin(c draw.Canvas) draw.Canvas {
	const m = 3 * vg.Millimeter
	return draw.Crop(c, m, -m, m+4*vg.Millimeter, -m)
}

func captionStyle() text.Style {
	style := newPlot("", "", "").X.Tick.Label
	style.Font.Size, style.Color = 8, faint
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	return style
}

// shortLabels are the usual ticks, labelled without needless zeros.
type shortLabels struct{ plot.DefaultTicks }

func (s shortLabels) Ticks(low, high float64) []plot.Tick {
	ticks := s.DefaultTicks.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(math.Round(ticks[i].Value*1e9)/1e9, 'f', -1, 64)
		}
	}
	return ticks
}

const day = 24 * time.Hour

// timeAxis makes x, whose unit is seconds since the epoch, go from first to last
// and marks round dates on it.
func timeAxis(p *plot.Plot, first, last time.Time) {
	first, last = first.UTC(), last.UTC()
	p.X.Min, p.X.Max = float64(first.Unix()), float64(last.Unix())
	span := last.Sub(first)
	months, days, layout := 0, 1, "2 Jan"
	switch {
	case span > 2*365*day:
		months, days, layout = 12, 0, "2006"
	case span > 60*day:
		months, days, layout = int(span/(300*day))+1, 0, "Jan 2006"
	case span > 14*day:
		days = 7
	}
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		var ticks []plot.Tick
		t := first.Add(day - 1).Truncate(day)
		if months > 0 {
			t = time.Date(first.Year(), first.Month()-time.Month((int(first.Month())-1)%months), 1, 0, 0, 0, 0, time.UTC)
		}
		for ; !t.After(last); t = t.AddDate(0, months, days) {
			if x := float64(t.Unix()); x >= low && x <= high {
				ticks = append(ticks, plot.Tick{Value: x, Label: t.Format(layout)})
			}
		}
		return ticks
	})
}

// powersOfTen marks an axis whose values are logarithms. (With plot.LogScale
// the axis' label is measured at the wrong height and takes half the picture.)
func powersOfTen() plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		var ticks []plot.Tick
		for e := math.Ceil(low); e <= high; e++ {
			ticks = append(ticks, plot.Tick{Value: e, Label: strconv.FormatFloat(math.Pow(10, e), 'f', -1, 64)})
			for m := 2.0; m < 10 && e < high; m++ {
				ticks = append(ticks, plot.Tick{Value: e + math.Log10(m)})
			}
		}
		return ticks
	})
}
