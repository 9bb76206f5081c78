// Package knobs is the column of controls: which there are, in what order, what
// each shows, and how the column is drawn.
package knobs

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/report/figure"
)

// Group is a headed part of the column.
type Group struct {
	Title string
	IDs   []knob.ID
}

// Groups is the order of the column. The last group is what is turned rarely;
// on small screens it is reached by scrolling.
func Groups() []Group {
	return []Group{
		{"MACHINE", []knob.ID{"nodes", "gpus"}},
		{"LAYOUT", []knob.ID{"dp", "tp", "pp", "vpp", "cp", "ep", "etp", "zero", "sp"}},
		{"BATCH", []knob.ID{"mbs", "microbatches", "gbs", "seq"}},
		{"RECIPE", []knob.ID{"schedule", "recompute", "precision"}},
		{"MORE", []knob.ID{"grad-dtype", "optimizer", "offload", "attention", "loss", "group-size", "max-in-flight", "split", "hsdp", "imbalance", "mtp", "calibration", "mfu", "tokens", "price", "power", "pue", "goodput"}},
	}
}

// Order is the knobs from top to bottom.
func Order() []knob.ID {
	var ids []knob.ID
	for _, g := range Groups() {
		ids = append(ids, g.IDs...)
	}
	return ids
}

// Row is what one knob shows.
type Row struct {
	ID      knob.ID
	Label   string
	Short   string // the label in seven letters or less
	Value   string
	Values  []string // the ladder, as it is written on the command line
	Shown   []string // the ladder, as it is drawn
	Current int
	Numeric bool
	Lock    string // "kept" or "follows", empty for knobs outside the locks
	Off     string // why the knob has no effect here; empty when it has
	OffWord string // the same in one word
}

// Rows are all knobs of a setup under the locks.
func Rows(s engine.Setup, l knob.Locks) []Row {
	params := knob.All()
	byID := make(map[knob.ID]*knob.Knob, len(params))
	for i := range params {
		byID[params[i].ID] = &params[i]
	}
	order := Order()
	rows := make([]Row, 0, len(order))
	for _, id := range order {
		if p, ok := byID[id]; ok {
			rows = append(rows, newRow(s, p, l))
		}
	}
	return rows
}

func newRow(s engine.Setup, p *knob.Knob, l knob.Locks) Row {
	r := Row{
		ID: p.ID, Label: p.Label, Short: shortLabel(p), Current: -1, Numeric: p.Kind == knob.Number || p.Kind == knob.Figure,
		Lock: lockWord(p.ID, l),
	}
	r.Off, r.OffWord = off(&s, p.ID)
	r.Value = Show(p, p.Text(s))
	if r.Off != "" {
		return r
	}
	for i, step := range knob.Steps(s, p.ID, l) {
		r.Values = append(r.Values, step.Text)
		r.Shown = append(r.Shown, short(p, step.Text))
		if step.Current {
			r.Current = i
		}
	}
	return r
}

// Show is a value as people read it: numbers with commas, an empty split as
// the word for it.
func Show(p *knob.Knob, text string) string {
	if p.ID == "split" && text == "" {
		return "balanced"
	}
	if n, err := strconv.Atoi(text); err == nil && p.Kind == knob.Number {
		return figure.Comma(n)
	}
	return text
}

// short is a value on a ladder, where room is dear: 32k for 32,768 tokens.
func short(p *knob.Knob, text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case p.ID == "split" && text == "":
		return "balanced"
	case err != nil || p.Kind != knob.Number:
		return text
	case p.ID == "seq" && n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "M"
	case p.ID == "seq" && n >= 1<<10 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "k"
	}
	return figure.Comma(n)
}

// shortLabel is a label for places with room for seven letters.
func shortLabel(p *knob.Knob) string {
	switch p.ID {
	case "mbs", "gbs":
		return string(p.ID)
	case "microbatches":
		return "m"
	case "group-size":
		return "group"
	case "seq":
		return "seq"
	case "schedule":
		return "sched"
	case "recompute":
		return "recomp"
	case "precision":
		return "format"
	case "grad-dtype":
		return "grads"
	case "optimizer":
		return "optim"
	case "attention":
		return "attn"
	case "mfu":
		return "MFU"
	}
	return p.Label
}

// Brief is a value of the ladder as it is drawn.
func (r *Row) Brief(value string) string {
	for i, v := range r.Values {
		if v == value {
			return r.Shown[i]
		}
	}
	return value
}

// lockWord says which of the two ends of a lock a knob is.
func lockWord(id knob.ID, l knob.Locks) string {
	word := func(kept bool) string {
		if kept {
			return "kept"
		}
		return "follows"
	}
	switch id {
	case "gpus":
		return word(l.GPUs)
	case "dp":
		return word(!l.GPUs)
	case "gbs":
		return word(l.Batch)
	case "microbatches":
		return word(!l.Batch)
	}
	return ""
}

// Off says why a knob has no effect in a setup; empty when it has.
func Off(s *engine.Setup, id knob.ID) string {
	why, _ := off(s, id)
	return why
}

// off says why a knob has nothing to turn in this setup.
func off(s *engine.Setup, id knob.ID) (why, word string) {
	switch id {
	case "ep", "etp":
		if !s.Model.IsMoE() && s.EP <= 1 && s.ETP <= 1 {
			return "dense model", "dense"
		}
	case "sp":
		if s.TP <= 1 && !s.SP {
			return "needs TP > 1", "TP = 1"
		}
	case "vpp":
		if s.PP <= 1 && s.VPP <= 1 {
			return "needs PP > 1", "PP = 1"
		}
	case "imbalance":
		if !s.Model.IsMoE() {
			return "dense model", "dense"
		}
	case "hsdp":
		if (s.ZeRO == 0 || s.DP <= 1) && s.Replicas() == 1 {
			return "needs ZeRO and DP > 1", "off"
		}
	case "group-size":
		if s.VPP <= 1 && s.GroupSize == 0 {
			return "interleaved only", ""
		}
	case "max-in-flight":
		if s.Schedule != schedule.ZBAuto && s.MaxInFlight == 0 {
			return "zb-auto only", ""
		}
	case "mtp":
		if s.Model.MTPLayers == 0 && !s.TrainMTP {
			return "model has none", "none"
		}
	}
	return "", ""
}
