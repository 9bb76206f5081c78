// Package compare is the Compare screen: a pinned setup against another term by
// term and change by change, each method alone, and what every method cuts and
// costs at the moment.
package compare

import (
	"context"
	"fmt"
	"slices"

	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/presets/words"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// MaxPins is how many setups can be pinned: as many as there are digits.
const MaxPins = 9

// pane is one of the views of the screen.
type pane uint8

const (
	pairPane pane = iota
	alonePane
	methodsPane
	panes
)

// View is the Compare screen. Work that it asks for ends in a call that changes
// the View, so a View stays where it is.
type View struct {
	// Ranking returns the Search screen of the same program; nil: there is none.
	Ranking func() Ranking
	rival   rival

	pins   []engine.Setup
	speeds map[engine.Setup]float64 // MFU of pins, as far as they were computed
	a, b   int                      // pins that are compared; b = -1: the current setup
	pane   pane
	row    int // under the cursor

	unchanged bool // figures that are the same on both sides are listed too

	dropped *dropped // what D puts back; nil: nothing

	pair    *pair
	jobs    widget.Jobs
	query   sides
	alone   alone
	methods map[knob.ID]words.Method
	fault   string // why there are no methods
}

// dropped is a pin that was taken out, and where it was.
type dropped struct {
	at    int
	setup engine.Setup
}

// Copy returns the screen with its pins and what it has compared.
func (v *View) Copy() screen.Screen {
	c := *v
	c.Ranking = nil // belongs to the other explorer
	c.pins, c.dropped = slices.Clone(v.pins), nil
	c.jobs, c.alone.jobs, c.query = widget.Jobs{}, widget.Jobs{}, sides{}
	return &c
}

// sides are the two setups.
type sides struct{ a, b engine.Setup }

// pair holds the results for two setups.
type pair struct {
	of     sides
	all    enginecompare.Comparison
	way    []enginecompare.Move
	speeds map[engine.Setup]float64 // MFU of the pins
}

// New makes a screen.
func New() *View {
	v := &View{b: -1}
	methods, err := words.Methods()
	if err != nil {
		v.fault = err.Error()
	}
	v.methods = methods
	return v
}

// Pin keeps a setup and says what happened. Where there is no room it is refused: a
// pin that somebody keeps is not thrown away for another.
func (v *View) Pin(s engine.Setup) string {
	if i := slices.Index(v.pins, s); i >= 0 {
		return fmt.Sprintf("already pinned as %d", i+1)
	}
	if len(v.pins) >= MaxPins {
		return fmt.Sprintf("not pinned: %d is the maximum; on Compare (c) d drops one", MaxPins)
	}
	v.pins = append(v.pins, s)
	v.a, v.b = len(v.pins)-1, -1
	return fmt.Sprintf("pinned as %d, %s; c compares", len(v.pins), names(v.pins)[len(v.pins)-1])
}

// Pins returns the pinned setups, the oldest first.
func (v *View) Pins() []engine.Setup { return slices.Clone(v.pins) }

// Restore takes the pins of an earlier session.
func (v *View) Restore(pins []engine.Setup) {
	v.pins = slices.Clone(pins[:min(len(pins), MaxPins)])
	v.a = max(len(v.pins)-1, 0)
}

// sides returns the two setups to compare: a pin and the current one, or that and its rival; false where
// there is neither.
func (v *View) sides(in *screen.Context) (sides, bool) {
	if in.Setup == nil {
		return sides{}, false
	}
	if v.against(in) {
		return sides{*in.Setup, *v.rivalOf(in)}, true
	}
	if len(v.pins) == 0 || v.alonePinned(in) && v.waits(in) {
		return sides{}, false
	}
	v.a = min(max(v.a, 0), len(v.pins)-1)
	v.b = min(max(v.b, -1), len(v.pins)-1)
	out := sides{v.pins[v.a], *in.Setup}
	if v.b >= 0 {
		out.b = v.pins[v.b]
	}
	return out, true
}

// Refresh asks for the data that the pane in front lacks.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if in.Setup == nil {
		return screen.Request{}
	}
	if v.pane == alonePane {
		return v.alone.refresh(in)
	}
	if v.pane == pairPane && v.alonePinned(in) {
		if do := v.refreshRival(in); do.Work != nil {
			return do
		}
	}
	want, ok := v.sides(in)
	if v.pane != pairPane || !ok || v.pair != nil && v.pair.of == want ||
		v.jobs.Running() && v.query == want {
		return screen.Request{}
	}
	v.query = want
	pins := append(v.Pins(), want.b)
	return screen.Work(&v.jobs, func(ctx context.Context) pair {
		stop := func() bool { return ctx.Err() != nil }
		return pair{
			want, enginecompare.Setups(want.a, want.b),
			enginecompare.ChangePath(want.a, want.b, stop), speedsOf(pins, stop),
		}
	}, func(p pair) { v.pair, v.speeds = &p, p.speeds })
}

// Forget is for when the screen is left: the reports of a pair can be computed
// again.
func (v *View) Forget() {
	v.pair = nil
	v.jobs.Drop()
}

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	lines := []string{v.paneLine(in, w)}
	switch v.pane {
	case alonePane:
		lines = append(lines, v.alone.render(in, v.row, w, h-1)...)
	case methodsPane:
		lines = append(lines, v.matrix(in, w, h-1)...)
	case pairPane, panes:
		lines = append(lines, v.pairLines(in, w, h-1)...)
	}
	return widget.Height(lines, w, h)
}

func paneNames() [panes]string {
	return [panes]string{"two setups", "each method alone", "methods now"}
}

// Show goes to a pane: alone, methods, or the two setups for any other name.
func (v *View) Show(name string) {
	v.pane = pairPane
	switch name {
	case "alone":
		v.pane = alonePane
	case "methods":
		v.pane = methodsPane
	}
}

// Pane returns the name that shows the pane.
func (v *View) Pane() string { return [panes]string{"pair", "alone", "methods"}[v.pane] }

// paneLine names the panes, the one in front marked.
func (v *View) paneLine(in *screen.Context, w int) string {
	l := widget.NewLine(w).Put(in.Paint(themes.Heading), "COMPARE").Gap(2)
	for p, name := range paneNames() {
		role, text := themes.Muted, " "+name+" "
		if pane(p) == v.pane {
			role, text = themes.Current, "["+name+"]"
		}
		if l.Left() >= widget.Width(text) {
			l.Put(in.Paint(role), text)
		}
	}
	return l.String()
}
