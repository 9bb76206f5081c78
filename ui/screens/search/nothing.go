package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// foundNothing reports whether the search ended without a layout.
func (v *View) foundNothing() bool {
	return v.answer != nil && v.ranked() == 0
}

// nothingStatus returns what can be done where nothing was found.
func (v *View) nothingStatus() string {
	if c := v.answer.conflict; c != nil && c.Least != nil {
		return "enter loads the layout with the least memory; f changes the query"
	}
	return "f changes the query, a frees everything"
}

// nothing says in plain words why no layout was found.
func (v *View) nothing(in *screen.Context, w, h int) []string {
	a := v.answer
	if a.conflict == nil {
		text := "The search was stopped before it found a layout. r searches again."
		if a.searched {
			text = "There is no layout. The search for the reason was stopped; r searches again."
		}
		return paragraph(in, []string{"", text}, themes.Text, w, h)
	}
	texts := append([]string{""}, v.conflictWords(in)...)
	return paragraph(in, texts, themes.Text, w, h)
}

// conflictWords say what excludes everything, and what comes nearest.
func (v *View) conflictWords(in *screen.Context) []string {
	c := v.answer.conflict
	s := &v.answer.of.base
	out := []string{"No layout of " + s.Model.Name + " on " + v.answer.of.gpuWords() + " meets the query."}
	var parts []string
	for _, name := range c.Fields {
		parts = append(parts, v.constraintWords(name, s))
	}
	switch len(parts) {
	case 0:
		out = append(out, "The model and the machine alone exclude every layout: no degrees divide it.")
	case 1:
		text := "One limit alone excludes them all: " + parts[0] + "."
		if c.Tried && len(c.Frees) == 0 {
			text += " Relaxing it is not enough: other limits exclude layouts too."
		}
		out = append(out, text)
	default:
		out = append(out, "Together these "+c.Together()+": "+strings.Join(parts[:len(parts)-1],
			", ")+" and "+parts[len(parts)-1]+".")
	}
	p := v.answer.of.problem()
	if m := v.answer.missed; m != nil {
		words := report.MissedWords(m, p.Deadline)
		out = append(out, strings.ToUpper(words[:1])+words[1:]+".")
	}
	if why := c.Why(&p); why != "" {
		out = append(out, why+".")
	}
	if len(c.Helps) > 0 {
		out = append(out, "Layouts outside the default search fit: "+strings.Join(c.Helps, ", ")+".")
	}
	if l := c.Least; l != nil && l.Report.Memory != nil {
		m := l.Report.Memory
		which := "The layout with the least memory takes"
		if c.LeastSoFar {
			which = "Of the layouts tried before the search was stopped, the smallest takes"
		}
		out = append(out, "", fmt.Sprintf(which+" %s GiB (%s) of the %s usable: %s.",
			figure.GiB(m.Peak), m.Band(in.Glyphs.PlusMinus), figure.GiB(m.Usable),
			report.LayoutWords(&l.Setup, nil)), "enter loads it.")
	}
	if v.answer.of.problem().Objective != find.FewestGPUs && slices.Contains(c.Fields, "memory") {
		out = append(out, "",
			"For the number of GPUs that fit the model: f, then set best is to "+string(find.FewestGPUs)+".")
	}
	return out
}

// gpuWords returns the GPUs that a search covered.
func (a *query) gpuWords() string {
	p := a.problem()
	list, text := p.Space.GPUs, figure.Comma(a.base.GPUs)
	if n := len(list); n > 1 {
		text = figure.Comma(list[0]) + " to " + figure.Comma(list[n-1])
	}
	return text + " " + a.base.Cluster.GPU.Name
}

// constraintWords returns a field of a conflict in words.
func (v *View) constraintWords(name string, s *engine.Setup) string {
	w := &v.answer.of.chosen
	switch knob.ID(name) {
	case "memory":
		text := "the memory of a GPU, " + figure.GiB(s.Cluster.GPU.MemoryUsable) + " GiB usable"
		if l := v.answer.conflict.Least; l != nil && l.Report.Memory.HostOver() > 0 {
			text += ", and the host memory of a node, " + figure.GiB(s.Cluster.HostMemory) + " GiB"
		}
		return text
	case knob.GBS:
		if p := v.answer.of.problem(); p.Space.FollowGBS {
			return "the default global batches of search, " + find.UsualBatch(s, 0, 0)
		}
		text := "the global batch of " + figure.Comma(s.GBS) +
			" sequences, which must divide over the data-parallel ranks"
		if w[deadline] != "" {
			text += "; a larger one takes less time"
		}
		return text
	case "launchers":
		return "rejection by launchers"
	case knob.Split:
		return "the split of the layers by hand"
	default:
	}
	if k, ok := field(name); ok {
		return k.label() + " " + w[k]
	}
	return name
}

// paragraph wraps texts into h lines of w cells; an empty text is a blank line.
func paragraph(in *screen.Context, texts []string, role themes.Role, w, h int) []string {
	var lines []string
	for _, text := range texts {
		for _, part := range strings.Split(ansi.Wrap(text, max(w-2*pointer, 1), ""), "\n") {
			lines = append(lines, widget.NewLine(w).Gap(pointer).Put(in.Paint(role), part).String())
		}
	}
	return widget.Height(lines, w, h)
}
