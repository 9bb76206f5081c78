package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// Layout is the layout of a setup, in JSON an object with the keys of a setup document.
type Layout engine.Setup

// MarshalJSON writes the knobs that tell layouts apart, in the order of search.Layout.
func (l Layout) MarshalJSON() ([]byte, error) {
	s := engine.Setup(l)
	var out bytes.Buffer
	for i, id := range search.Layout() {
		k, _ := knob.Find(id)
		value, err := json.Marshal(k.Value(&s))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", id, err)
		}
		sign := ","
		if i == 0 {
			sign = "{"
		}
		fmt.Fprintf(&out, "%s%q:%s", sign, strings.ReplaceAll(string(id), "-", "_"), value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// LayoutWords returns a layout in the words of the command line, without degrees of 1 and
// methods that are off, and without the knobs for which seen (nil: none) is true.
func LayoutWords(s *engine.Setup, seen func(id string) bool) string {
	var parts []string
	put := func(id, text string, used bool) {
		if used && (seen == nil || !seen(id)) {
			parts = append(parts, text)
		}
	}
	put("dp", "dp "+figure.Comma(s.DP), true)
	for _, p := range []struct {
		name string
		n    int
	}{{"tp", s.TP}, {"pp", s.PP}, {"vpp", s.VPP}, {"cp", s.CP}, {"ep", s.EP}, {"etp", s.ETP}} {
		put(p.name, fmt.Sprintf("%s %d", p.name, p.n), p.n > 1)
	}
	put("zero", fmt.Sprintf("zero %d", s.ZeRO), true)
	put("mbs", fmt.Sprintf("mbs %d", s.MBS), true)
	put("microbatches", figure.Plural(s.MicroBatches, "micro-batch"), true)
	put("sp", "sp "+figure.OnOff(s.SP), s.TP > 1)
	put("schedule", string(s.Schedule), s.PP > 1)
	put("recompute", "recompute "+s.Recompute.String(), s.Recompute.Mode != recipe.RecomputeNone)
	return strings.Join(parts, ", ")
}

// RunWords returns a setup with its model, machine, layout and batch in brief.
func RunWords(s *engine.Setup) string {
	return fmt.Sprintf("%s on %s %s: %s, gbs %s, seq %s", s.Model.Name, figure.Comma(s.GPUs),
		s.Cluster.GPU.Name,
		LayoutWords(s, func(id string) bool { return id == "microbatches" }), figure.Comma(s.GBS),
		figure.Comma(s.Seq))
}
