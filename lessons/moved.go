package lessons

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
)

// Change is a figure that a turn moved.
type Change struct {
	Name          string
	Before, After string
	Ratio         float64 // after over before; 0 where there was none
}

// Moved lists the terms that the act's turn moved by more than the dead band: those of the
// fullest rank's memory and of the step, the largest first.
func (a *Act) Moved() []Change {
	type move struct {
		Change
		by float64
	}
	var out []move
	for _, of := range []struct {
		total string
		terms []string
	}{
		{"memory.peak", terms()},
		{"time.step", []string{
			"compute", "recompute", "time.bubble", "exposed", "time.optimizer", "time.offload",
		}},
	} {
		total, err := a.Before.figure(of.total)
		if err != nil {
			continue
		}
		for _, name := range append(of.terms, of.total) {
			id := name
			if slices.Contains(terms(), name) { // of one rank on both sides
				id = fmt.Sprintf("memory.ranks.%d.%s",
					min(a.After.Report.Memory.PeakRank, len(a.Before.Report.Memory.Ranks)-1), name)
			}
			before, errB := a.Before.figure(id)
			after, errA := a.After.figure(name)
			by := math.Abs(after.Value-before.Value) / total.Value
			if errA != nil || errB != nil || by <= deadBand {
				continue
			}
			c := Change{Name: title(name), Before: Text(before), After: Text(after)}
			if id != name && a.Before.Report.Memory.PeakRank != a.After.Report.Memory.PeakRank {
				c.Name = strings.ReplaceAll(c.Name, "the fullest rank",
					fmt.Sprint("rank ", a.After.Report.Memory.PeakRank))
			}
			if before.Value > 0 {
				c.Ratio = after.Value / before.Value
			}
			out = append(out, move{c, by})
		}
	}
	slices.SortStableFunc(out, func(x, y move) int { return cmp.Compare(y.by, x.by) })
	const most = 6 // what moved less explains nothing
	changes := make([]Change, min(len(out), most))
	for i := range changes {
		changes[i] = out[i].Change
	}
	return changes
}

// Decides returns the figure that decides an act, as explanations know it: the one that is asked for, of a
// point the right one, else the first that is masked; empty where the report has none, such as for the value
// of a knob.
func (a *Act) Decides() string {
	ids := []string{a.Against.ID}
	for i, id := range a.points {
		if a.Options[i].Right {
			ids = append(ids, id)
		}
	}
	for _, name := range a.Mask {
		f, _ := a.After.figure(name)
		ids = append(ids, f.ID)
	}
	for _, id := range ids {
		_, ok := figures.Find(&a.After.Report, id)
		if ok || id == "memory.peak-first-step" || slices.Contains(explain.Limits(), id) {
			return id
		}
	}
	return ""
}

// title returns the words for a figure.
func title(name string) string {
	for _, w := range figures.Words() {
		if w.Word == name || w.ID == name {
			return w.Name
		}
	}
	for _, d := range derivedFigures() {
		if d.is(flat(name)) {
			return d.Says
		}
	}
	if k, ok := knob.Find(knobID(name)); ok {
		return k.Label
	}
	parts := strings.Split(strings.TrimPrefix(name, "communication."), ".")
	if of := strings.ToUpper(parts[0]); len(parts) == 2 && strings.HasPrefix(name, "communication.") {
		return map[string]string{
			"bytes": of + " traffic", "seconds": "time of " + of + " traffic",
			"exposed": "exposed " + of + " traffic",
		}[parts[1]]
	}
	return strings.NewReplacer(".", " ", "-", " ", "_", " ").Replace(strings.TrimPrefix(name, "time."))
}

// Price returns the figure that an act is paid with, before and after; false where it names
// none, or nothing changed it.
func (a *Act) Price() (Change, bool) {
	if a.Paid == "" {
		return Change{}, false
	}
	before, errB := a.Before.figure(a.Paid)
	after, errA := a.After.figure(a.Paid)
	if errA != nil || errB != nil || a.Before.Setup == a.After.Setup || Text(before) == Text(after) {
		return Change{}, false
	}
	return Change{Name: title(a.Paid), Before: Text(before), After: Text(after)}, true
}
