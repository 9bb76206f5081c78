package lessons

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// Mask hides figures in texts: every number that is one of them, in any unit and to any
// number of digits from two on.
type Mask []figures.Figure

// Mask returns what is hidden in the phase that a play is in: the masked figures before and
// after the turn, so that a figure that stays cannot be told from one that moves.
func (p Play) Mask() Mask {
	var out Mask
	a := p.Act()
	for _, name := range p.Masked() {
		for _, side := range []*Side{&a.Before, &a.After} {
			if f, err := side.figure(name); err == nil && f.Value != 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

// inText is a number in a text.
var inText = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)

// Places returns where in a text hidden numbers stand: the first and last byte of each.
func (m Mask) Places(text string) [][2]int {
	if len(m) == 0 {
		return nil
	}
	var out [][2]int
	for _, at := range inText.FindAllStringIndex(text, -1) {
		number := text[at[0]:at[1]]
		name := at[0] > 0 && isLetter(text[at[0]-1]) && !strings.Contains(number, ".") // H100
		if !name && m.Hides(number) {
			out = append(out, [2]int{at[0], at[1]})
		}
	}
	return out
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// Text returns a text with the digits of hidden numbers replaced.
func (m Mask) Text(text string) string {
	b := []byte(text)
	for _, at := range m.Places(text) {
		for i := at[0]; i < at[1]; i++ {
			b[i] = '?'
		}
	}
	return string(b)
}

// Hides reports whether a number as it is written is a hidden figure in one of its units.
func (m Mask) Hides(number string) bool {
	number = strings.TrimRight(strings.ReplaceAll(number, ",", ""), ".")
	v, err := strconv.ParseFloat(number, 64)
	digits := strings.TrimLeft(strings.Replace(number, ".", "", 1), "0")
	if err != nil || len(digits) < 2 {
		return false
	}
	_, decimals, _ := strings.Cut(number, ".")
	last := math.Pow10(-len(decimals)) // the place of the last digit
	if decimals == "" {
		last = math.Pow10(len(digits) - len(strings.TrimRight(digits, "0")))
	}
	const half = 0.501 // of the last digit: how far rounding goes
	for i := range m {
		for _, unit := range sizes(m[i].Unit) {
			if math.Abs(v-math.Abs(m[i].Value)/unit) <= half*last {
				return true
			}
		}
	}
	return false
}

// sizes returns the sizes of the units that a figure is written in.
func sizes(u record.Unit) []float64 {
	const kibi = 1024
	switch u {
	case record.Share:
		return []float64{0.01, 1}
	case record.Memory, record.Traffic:
		return []float64{1, 1e3, 1e6, 1e9, 1e12, kibi, kibi * kibi, kibi * kibi * kibi, kibi * kibi * kibi * kibi}
	case record.Seconds:
		return []float64{1, 1e-3, 1e-6, 60, 3600}
	default:
		return []float64{1, 1e3, 1e6, 1e9, 1e12}
	}
}
