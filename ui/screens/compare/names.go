package compare

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// named returns the parameters that a pin is named by, the telling ones first. Those that
// follow from others come last: they count where nothing else differs.
func named() []knob.ID {
	first := []knob.ID{
		knob.GPUs, knob.TP, knob.PP, knob.CP, knob.EP, knob.VPP, knob.ZeRO, knob.MBS,
		knob.Recompute, knob.Schedule,
	}
	last := following()
	out := slices.Clone(first)
	for _, p := range knob.All() {
		if !slices.Contains(first, p.ID) && !slices.Contains(last, p.ID) {
			out = append(out, p.ID)
		}
	}
	return append(out, last...)
}

// following returns the parameters that follow from others.
func following() []knob.ID { return []knob.ID{knob.Nodes, knob.DP, knob.MicroBatches} }

// mostNamed is how many parameters a name has.
const mostNamed = 4

// names call setups by what tells them apart: tp8 pp2 zero1. Where they are all the
// same they are called by their cut.
func names(list []engine.Setup) []string {
	var fields []knob.ID
	for _, id := range named() {
		if len(fields) > 0 && slices.Contains(following(), id) {
			break
		}
		p, ok := knob.Find(id)
		differs := func(s engine.Setup) bool { return p.Text(s) != p.Text(list[0]) }
		if ok && slices.ContainsFunc(list, differs) && len(fields) < mostNamed {
			fields = append(fields, id)
		}
	}
	models := slices.ContainsFunc(list, func(s engine.Setup) bool { return s.Model.ID != list[0].Model.ID })
	machines := slices.ContainsFunc(list,
		func(s engine.Setup) bool { return s.Cluster.ID != list[0].Cluster.ID })
	if len(fields) == 0 && !models && !machines {
		fields = []knob.ID{knob.TP, knob.PP, knob.ZeRO}
	}
	out := make([]string, len(list))
	for i := range list {
		var parts []string
		if models {
			parts = append(parts, list[i].Model.Name)
		}
		if machines {
			parts = append(parts, list[i].Cluster.GPU.ID)
		}
		for _, id := range fields {
			parts = append(parts, word(id, &list[i]))
		}
		out[i] = strings.Join(parts, " ")
	}
	return out
}

// word returns a parameter in a name: tp8, interleaved, recompute full.
func word(id knob.ID, s *engine.Setup) string {
	p, _ := knob.Find(id)
	text := p.Text(*s)
	switch {
	case id == knob.Schedule || id == knob.Precision:
		return text
	case p.Kind == knob.Number:
		return string(id) + text
	}
	return string(id) + " " + text
}

// titles returns the names of the pins, of the current setup and of its rival where that is compared, each
// with its speed where it is known.
func (v *View) titles(in *screen.Context) []string {
	list := append(v.Pins(), *in.Setup)
	r := v.rivalOf(in)
	against := v.against(in)
	if against {
		list = append(list, *r)
	}
	out := names(list)
	if against {
		out[len(out)-1] = v.rival.name
	}
	for i := range list {
		if mfu := v.speed(in, &list[i]); mfu > 0 {
			out[i] += " " + in.Glyphs.Dot + " MFU " + figure.Percent(mfu)
		}
	}
	return out
}

// speed returns the MFU of a setup; 0 where it has not been computed.
func (v *View) speed(in *screen.Context, s *engine.Setup) float64 {
	if *s == *in.Setup && in.Report != nil && in.Report.Throughput != nil {
		return in.Report.Throughput.MFU
	}
	return v.speeds[*s]
}

// speedsOf computes the MFU of those setups that are quick to evaluate.
func speedsOf(list []engine.Setup, stop func() bool) map[engine.Setup]float64 {
	out := map[engine.Setup]float64{}
	e := engine.Evaluator{SkipTimeline: true}
	for i := range list {
		if list[i].Slow() {
			continue
		}
		if r, done := e.EvaluateUntil(list[i], stop); done && r.Throughput != nil {
			out[list[i]] = r.Throughput.MFU
		}
	}
	return out
}
