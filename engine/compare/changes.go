package compare

import (
	"fmt"
	"reflect"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
)

// Change is one thing that two setups say differently.
type Change struct {
	Field string `json:"field"` // the flag's name, or a path such as model.layers
	A     string `json:"a"`
	B     string `json:"b"`
	// Follows says which identity gave the value; empty where somebody chose it.
	Follows string `json:"follows,omitempty"`
	// Rule is what the field cuts and what it costs, in one sentence.
	Rule string `json:"rule"`
}

// Changes lists what B says differently from A: model and machine, then the
// knobs in their order. The number of nodes follows from the GPUs and is left out.
func Changes(a, b *engine.Setup) []Change {
	var out []Change
	if a.Model.ID != b.Model.ID {
		out = append(out, Change{
			Field: "model", A: a.Model.ID, B: b.Model.ID,
			Rule: "Another model: every figure changes.",
		})
	} else {
		out = fieldChanges(out, "model", reflect.ValueOf(a.Model), reflect.ValueOf(b.Model),
			"A figure of the model itself: parameters, FLOPs and activations follow from it.")
	}
	if a.Cluster.ID != b.Cluster.ID || a.Cluster.GPU.ID != b.Cluster.GPU.ID {
		out = append(out, Change{
			Field: "cluster", A: machineName(a), B: machineName(b),
			Rule: machineRule(a, b),
		})
	} else {
		out = fieldChanges(out, "cluster", reflect.ValueOf(a.Cluster), reflect.ValueOf(b.Cluster),
			"A figure of the machine: times and usable memory follow from it.")
	}
	for _, k := range knob.All() {
		if from, to := k.Text(*a), k.Text(*b); from != to && k.ID != knob.Nodes {
			out = append(out, Change{
				Field: string(k.ID), A: from, B: to, Follows: follows(a, b, k.ID),
				Rule: k.Help,
			})
		}
	}
	return out
}

// Work lists the knobs of what a step computes: where two setups differ in one, their steps are not the
// same work.
func Work() []knob.ID { return []knob.ID{knob.Precision, knob.Seq, knob.GBS} }

// machineName returns the cluster's name, with that of its GPU if the setup has replaced it.
func machineName(s *engine.Setup) string {
	if s.Cluster.ID == "" {
		return s.Cluster.GPU.ID
	}
	return s.Cluster.ID
}

func machineRule(a, b *engine.Setup) string {
	words := func(s *engine.Setup) string {
		g := &s.Cluster.GPU
		return fmt.Sprintf("%s per node with %.1f GiB to use and %.0f TFLOP/s in %s",
			units.Plural(s.Cluster.Node(), "GPU"),
			g.MemoryUsable.GiB(), float64(g.Peak(s.Precision))/1e12, s.Precision)
	}
	return "Another machine: " + words(b) + ", not " + words(a) + "."
}

// follows says from what an identity makes a value, where the rest of it changed
// too.
func follows(a, b *engine.Setup, id knob.ID) string {
	switch id {
	case knob.DP:
		if b.DP*b.TP*b.PP*b.CP == b.GPUs && (a.GPUs != b.GPUs || a.TP*a.PP*a.CP != b.TP*b.PP*b.CP) {
			return fmt.Sprintf("gpus / (tp x pp x cp) = %d / (%d x %d x %d)", b.GPUs, b.TP, b.PP, b.CP)
		}
	case knob.MicroBatches:
		if b.MBS*b.MicroBatches*b.DP == b.GBS && (a.GBS != b.GBS || a.MBS*a.DP != b.MBS*b.DP) {
			return fmt.Sprintf("gbs / (mbs x dp) = %d / (%d x %d)", b.GBS, b.MBS, b.DP)
		}
	default:
	}
	return ""
}

// leading returns the changes that nothing else brings about, those of the model and
// of the machine together.
func leading(all []Change) [][]Change {
	var out [][]Change
	before := ""
	for _, c := range all {
		if c.Follows != "" {
			continue
		}
		if part, _, nested := strings.Cut(c.Field, "."); nested && part == before {
			out[len(out)-1] = append(out[len(out)-1], c)
		} else {
			out, before = append(out, []Change{c}), part
		}
	}
	return out
}

// turnTo gives a setup the values that another has of some fields, and lets dp
// and the number of micro-batches follow.
func turnTo(s, b *engine.Setup, fields []Change) {
	for i := range fields {
		switch part, _, _ := strings.Cut(fields[i].Field, "."); part {
		case "model":
			s.Model = b.Model
		case "cluster":
			s.Cluster = b.Cluster
		default:
			knob.Copy(knob.ID(part), s, b)
		}
	}
	knob.Follow(s)
}

// fieldChanges compares two structs field by field, by their JSON names.
func fieldChanges(out []Change, path string, a, b reflect.Value, rule string) []Change {
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		x, y, at := a.Field(i), b.Field(i), path+"."+name
		switch {
		case x.Kind() == reflect.Struct:
			out = fieldChanges(out, at, x, y, rule)
		case !x.Equal(y):
			out = append(out, Change{Field: at, A: fmt.Sprint(x), B: fmt.Sprint(y), Rule: rule})
		}
	}
	return out
}
