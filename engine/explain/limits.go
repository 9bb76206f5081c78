package explain

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Limits are the ids of figures that are found by evaluating other setups: IDs leaves them out.
func Limits() []string { return []string{"memory.longest-sequence", "memory.largest-micro-batch"} }

// limit explains how far the sequence or the micro-batch of the setup may grow.
func (b *Book) limit(id string) (*Explanation, bool) {
	l, ok := fit.Find(&engine.Evaluator{}, b.setup)
	if !ok {
		return nil, false
	}
	out := &Explanation{
		Figure: id, Unit: record.Count, Simulated: true,
		Source: "bisection; a setup fits with its margin where the peak and its error leave the usable " +
			"memory free",
	}
	tell := func(name, unit string, n, step int, peak units.Bytes, open bool) {
		out.Name, out.Symbol, out.Value, out.Result = strings.ToUpper(name[:1])+name[1:], name, float64(n),
			float64(n)
		out.Formula = fmt.Sprintf("largest multiple of %d %s whose peak leaves the margin of the usable "+
			"memory", step, unit)
		out.Numbers = fmt.Sprintf("%d %s: %s of %s", n, unit, record.Memory.Text(float64(peak)),
			record.Memory.Text(float64(b.report.Memory.Usable)))
		if open {
			out.LeavesOut = "memory does not end it: it is the most that is evaluated, or the model's " +
				"table of positions"
		}
	}
	if id == Limits()[0] {
		tell("longest sequence", "tokens", l.Seq, l.SeqUnit, l.SeqPeak, l.SeqOpen)
	} else {
		tell("largest micro-batch", "sequences", l.MBS, 1, l.MBSPeak, l.MBSOpen)
	}
	return out, true
}
