package widget

import "math"

// Tornado is the scale that the bars of a tornado chart share: how far a quantity
// moves to both sides of its value now, as ratios to that. It is logarithmic, so that
// half and twice are as far from now. What is much longer to the right than anything is
// to the left is cut, and its end says so.
type Tornado struct {
	Low, High float64 // ratios at the two ends
	Axis      int     // the cell of the value now
	width     int
}

// Sides are one bar: the least and the greatest ratio, and those at values that fit.
type Sides struct {
	Low, High       float64 // at most 1, at least 1
	FitLow, FitHigh float64 // both 0: no value fits
}

// TornadoCell is the look of a cell of a bar.
type TornadoCell uint8

// Cells of a bar.
const (
	TornadoBlank      TornadoCell = iota
	TornadoAxis                   // the value now
	TornadoFits                   // from there as far as a value fits
	TornadoOverMemory             // further, where only values are that do not fit
	TornadoBeyond                 // the bar is longer than the scale
)

// twice is how far to the right the scale goes at most, unless it goes farther to the
// left.
const twice = 2

// NewTornado returns the scale of bars of so many cells.
func NewTornado(spans []Sides, width int) Tornado {
	t := Tornado{Low: 1, High: 1, width: max(width, 1)}
	for _, s := range spans {
		t.Low, t.High = min(t.Low, s.Low), max(t.High, s.High)
	}
	t.High = min(t.High, max(twice, 1/t.Low))
	if all := math.Log(t.High / t.Low); all > 0 {
		t.Axis = int(math.Round(-math.Log(t.Low) / all * float64(t.width-1)))
	}
	return t
}

// cells returns how many cells a ratio is from the axis, negative to the left.
func (t *Tornado) cells(ratio float64) int {
	all := math.Log(t.High / t.Low)
	if all <= 0 || ratio <= 0 {
		return 0
	}
	return int(math.Round(math.Log(ratio) / all * float64(t.width-1)))
}

// Cells draws one bar.
func (t *Tornado) Cells(s Sides) []TornadoCell {
	row := make([]TornadoCell, t.width)
	put := func(from, to int, what TornadoCell) {
		for x := max(from, 0); x <= min(to, t.width-1); x++ {
			row[x] = what
		}
	}
	put(t.Axis+t.cells(s.Low), t.Axis-1, TornadoOverMemory)
	put(t.Axis+1, t.Axis+t.cells(s.High), TornadoOverMemory)
	if s.FitLow > 0 && s.FitLow < 1 {
		put(t.Axis+t.cells(s.FitLow), t.Axis-1, TornadoFits)
	}
	if s.FitHigh > 1 {
		put(t.Axis+1, t.Axis+t.cells(s.FitHigh), TornadoFits)
	}
	row[min(t.Axis, t.width-1)] = TornadoAxis
	if s.High > t.High && t.Axis < t.width-1 {
		row[t.width-1] = TornadoBeyond
	}
	return row
}

// TornadoSigns returns the signs of the cells, in the order of their constants, without
// their colours.
func TornadoSigns(unicode bool) [5]string {
	if !unicode {
		return [5]string{" ", "|", "#", ":", ">"}
	}
	return [5]string{" ", "│", "█", "░", "›"}
}
