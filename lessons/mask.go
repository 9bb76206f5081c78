package lessons

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// Mask hides figures in texts: every number that is one of them, in any unit and to any
// number of digits.
type Mask struct {
	hidden []figures.Figure
	after  []figures.Figure // what a turn would make of the figure that is asked for
	shown  []figures.Figure // that the question starts from: numbers that are one of these stay
}

// NewMask hides figures.
func NewMask(of ...figures.Figure) Mask { return Mask{hidden: of} }

// Figures returns what the act masks, before and after its turn.
func (m Mask) Figures() []figures.Figure { return m.hidden }

// Asked returns the masked figures by their ids, without what follows from them.
func (p Play) Asked() []string {
	var out []string
	for _, name := range p.Masked() {
		if f, err := p.Act().After.figure(name); err == nil {
			out = append(out, f.ID)
		}
	}
	return out
}

// Hidden returns the figures that are masked now and those from which they follow.
func (p Play) Hidden() []string {
	var out []string
	for _, id := range p.Asked() {
		out = append(out, kin(id)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Mask returns what is hidden in the phase that a play is in: the masked figures before and
// after the turn, so that a figure that stays cannot be told from one that moves, and what becomes
// of the figure that is asked for.
func (p Play) Mask() Mask {
	var out Mask
	a := p.Act()
	if p.Phase >= Reveal {
		return out
	}
	masked := p.Hidden()
	for _, id := range masked {
		for _, side := range []*Side{&a.Before, &a.After} {
			if f, err := side.figure(id); err == nil && f.Value != 0 {
				out.hidden = append(out.hidden, f)
			}
		}
	}
	if a.figure == "" || len(a.Turned) == 0 || a.Kind == Point {
		return out
	}
	asked := []string{a.Against.ID}
	if also := kin(a.Against.ID); slices.Contains(also, "time.step") {
		asked = also
	}
	for _, id := range asked {
		after, errA := a.After.figure(id)
		before, errB := a.Before.figure(id)
		if errA == nil && errB == nil && after.Value != 0 && after.Unit != record.Count &&
			!slices.Contains(masked, id) {
			out.after, out.shown = append(out.after, after), append(out.shown, before)
		}
	}
	return out
}

// terms are the parts of a rank's memory.
func terms() []string {
	return []string{"weights", "gradients", "optimizer", "activations", "logits", "buffers", "overhead"}
}

// kin returns a figure with those that say the same, or from which it follows.
func kin(id string) []string {
	speed := []string{
		"time.step", "throughput.mfu", "throughput.model-tflops-per-gpu",
		"throughput.tokens-per-second-per-gpu",
		"throughput.tokens-per-second", "pipeline.makespan", "run.days", "run.cost",
	}
	peak := []string{"memory.peak", "memory.free", "memory.fullest.total", "memory.fullest.allocated"}
	term, of := strings.CutPrefix(id, figures.FullestRank)
	switch {
	case slices.Contains(speed, id):
		return speed
	case slices.Contains(peak, id):
		for _, t := range terms() {
			peak = append(peak, figures.FullestRank+t)
		}
		return peak
	case of && slices.Contains(terms(), term): // the others and the peak give it
		return append(peak, id)
	case id == "pipeline.bubble-over-ideal" || id == "pipeline.bubble-over-total" || id == "time.bubble" ||
		id == "time.bubble-share":
		return []string{
			"time.bubble-share", "pipeline.bubble-over-ideal", "pipeline.bubble-over-total",
			"time.bubble",
		}
	}
	return []string{id}
}

// inText is a number in a text with the unit behind it, where it has one.
var inText = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?( ?(?:%|(?:[KMGT]?i?B|[num]?s)\b))?`)

// Places returns where in a text hidden numbers stand: the first and last byte of each.
func (m Mask) Places(text string) [][2]int {
	if len(m.hidden)+len(m.after) == 0 {
		return nil
	}
	var out [][2]int
	for _, at := range inText.FindAllStringSubmatchIndex(text, -1) {
		end, unit := at[1], ""
		if at[2] >= 0 {
			end, unit = at[2], text[at[2]:at[3]]
		}
		number := text[at[0]:end]
		// H100, 80GB
		if named := at[0] > 0 && isLetter(text[at[0]-1]) || unit == "GB"; named && !strings.Contains(number,
			".") {
			continue
		}
		if versioned(text[:at[0]]) {
			continue
		}
		// an error
		if before := text[:at[0]]; strings.HasSuffix(before, "±") || strings.HasSuffix(before, "+-") {
			continue
		}
		if m.hides(number, strings.TrimSpace(unit)) {
			out = append(out, [2]int{at[0], end})
		}
	}
	return out
}

// versioned reports whether a text ends in a name whose version follows: Llama-3.1.
func versioned(before string) bool {
	before = strings.TrimSuffix(before, "-")
	const short = 4 // labels of bars, which stand before figures, have less
	return len(before) >= short && !strings.ContainsFunc(before[len(before)-short:],
		func(r rune) bool { return r > 'z' || !isLetter(byte(r)) })
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

// hides reports whether a number as it is written is a hidden figure in one of its units, and not one
// of those that are shown. A single digit is one where it has a unit.
func (m Mask) hides(number, unit string) bool {
	number = strings.TrimRight(strings.ReplaceAll(number, ",", ""), ".")
	v, err := strconv.ParseFloat(number, 64)
	digits := strings.TrimLeft(strings.Replace(number, ".", "", 1), "0")
	if err != nil || digits == "" || len(digits) < 2 && unit == "" {
		return false
	}
	_, decimals, _ := strings.Cut(number, ".")
	last := math.Pow10(-len(decimals)) // the place of the last digit
	if decimals == "" {
		last = math.Pow10(len(digits) - len(strings.TrimRight(digits, "0")))
	}
	const told = 3 // digits without a unit that are no coincidence
	if isOne(m.shown, v, last, unit) {
		return false
	}
	if unit == "" && len(digits) < told { // 12 runs; 0.43 is a figure
		return decimals != "" && isOne(m.hidden, v, last, unit)
	}
	return isOne(m.hidden, v, last, unit) || isOne(m.after, v, last, unit)
}

// isOne reports whether a number, exact to its last place, is one of the figures in the unit behind it,
// without one in any.
func isOne(of []figures.Figure, v, last float64, named string) bool {
	const half = 0.501 // of the last digit: how far rounding goes
	for i := range of {
		for name, unit := range sizes(of[i].Unit) {
			if named != "" && name != named {
				continue
			}
			if math.Abs(v-math.Abs(of[i].Value)/unit) <= half*last {
				return true
			}
		}
	}
	return false
}

// sizes returns the units that a figure is written in, with their sizes. Those without a unit of their
// own behind a number have another name.
func sizes(u record.Unit) map[string]float64 {
	const kibi = 1024
	switch u {
	case record.Share:
		return map[string]float64{"%": 0.01, "of 1": 1}
	case record.Memory, record.Traffic:
		return map[string]float64{
			"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
			"KiB": kibi, "MiB": kibi * kibi, "GiB": kibi * kibi * kibi, "TiB": kibi * kibi * kibi * kibi,
		}
	case record.Seconds:
		return map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600}
	default:
		return map[string]float64{"one": 1, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
	}
}
