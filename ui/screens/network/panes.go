package network

import (
	"strings"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screens/network/lanes"
	"meshscope/ui/screens/network/rings"
	"meshscope/ui/widget"
)

// View is the Network screen: one of its panes under a line that names them all. A pane is
// a screen of its own whose Name is that of the pane. It draws a line less than the screen
// has, and its keys work while it is shown.
type View struct {
	panes []screen.Screen
	shown int
}

// New makes a screen. A new pane is its package and its name here.
func New() *View {
	return &View{panes: append([]screen.Screen{new(overview), lanes.New()}, rings.New()...)}
}

// Pane returns the name of the pane that is shown.
func (v *View) Pane() string { return v.panes[v.shown].Name() }

// Copy returns the screen with a copy of each pane; nil where a pane has none.
func (v *View) Copy() screen.Screen {
	c := &View{shown: v.shown}
	for _, p := range v.panes {
		one, ok := p.(screen.Copier)
		if !ok {
			return nil
		}
		c.panes = append(c.panes, one.Copy())
	}
	return c
}

// Fits reports whether what the pane has computed is for the window.
func (v *View) Fits(in *screen.Context) bool {
	f, ok := v.panes[v.shown].(screen.Sized)
	return !ok || f.Fits(inside(in))
}

// paneTop is the height of the line of names.
const paneTop = 1

// inside returns the context of the panes.
func inside(in *screen.Context) *screen.Context {
	if in == nil {
		return nil
	}
	return in.At(in.W, max(0, in.H-paneTop))
}

// Name returns the name of the tab.
func (*View) Name() string { return "Network" }

// Show goes to the pane of that name, or to the overview. Behind a slash may follow the part of the pane to
// show: "collectives/tp", "ring/contiguous".
func (v *View) Show(name string) {
	v.shown = 0
	name, part, _ := strings.Cut(name, "/")
	for i, p := range v.panes {
		if p.Name() == name {
			v.shown = i
			if parts, ok := p.(interface{ Show(part string) }); ok {
				parts.Show(part)
			}
		}
	}
}

// Keys returns the keys of all panes, each for while its pane is shown, and those that
// change the pane.
func (v *View) Keys(in *screen.Context) []screen.Key {
	var all []screen.Key
	for i, p := range v.panes {
		for _, k := range p.Keys(inside(in)) {
			when := k.When
			k.When = func() bool { return v.shown == i && (when == nil || when()) }
			all = append(all, k)
		}
	}
	next := screen.Key{
		ID: "next-pane last-pane", Keys: "v | V", Help: "next pane, pane before", Foot: "v",
		Hint: "next pane", Do: func(n int) {
			v.shown = (v.shown - n + len(v.panes)) % len(v.panes)
		},
	}
	return append([]screen.Key{next}, all...)
}

// Render draws the names of the panes and the one that is shown.
func (v *View) Render(in *screen.Context) []string {
	if in.W <= 0 || in.H <= 0 {
		return widget.Height(nil, max(in.W, 0), in.H)
	}
	l := widget.NewLine(in.W)
	l.Put(in.Paint(themes.Heading), "NETWORK").Gap(2)
	for i, p := range v.panes {
		if i == v.shown {
			l.Put(in.Paint(themes.Current), "["+p.Name()+"]")
		} else {
			l.Put(in.Paint(themes.Muted), " "+p.Name()+" ")
		}
		l.Gap(1)
	}
	return append([]string{l.String()}, v.panes[v.shown].Render(inside(in))...)
}

// Mouse takes a click on the name of a pane, or gives it to the pane.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	if y >= paneTop {
		return v.panes[v.shown].Mouse(inside(in), x, y-paneTop, button)
	}
	at := len("NETWORK") + 2
	for i, p := range v.panes {
		end := at + widget.Width(p.Name()) + 2
		if y == 0 && x >= at && x < end && button == "left" {
			v.shown = i
			return true, v.Refresh(in)
		}
		at = end + 1
	}
	return false, screen.Request{}
}

// Status is that of the pane.
func (v *View) Status(in *screen.Context) string { return v.panes[v.shown].Status(inside(in)) }

// Refresh asks for what the pane lacks.
func (v *View) Refresh(in *screen.Context) screen.Request {
	return v.panes[v.shown].Refresh(inside(in))
}

// Forget lets every pane drop what is large.
func (v *View) Forget() {
	for _, p := range v.panes {
		if f, ok := p.(screen.Forgetter); ok {
			f.Forget()
		}
	}
}

// Playing reports whether the pane moves by itself.
func (v *View) Playing() bool {
	m, ok := v.panes[v.shown].(screen.Mover)
	return ok && m.Playing()
}

// Tick moves the pane by a frame.
func (v *View) Tick() bool {
	m, ok := v.panes[v.shown].(screen.Mover)
	return ok && m.Tick()
}

// Figure returns the name of the figure under the pane's cursor.
func (v *View) Figure(in *screen.Context) string {
	if p, ok := v.panes[v.shown].(screen.Pointer); ok {
		return p.Figure(inside(in))
	}
	return ""
}

// Tables returns the tables of all panes.
func (v *View) Tables(in *screen.Context) []report.Table {
	var all []report.Table
	for _, p := range v.panes {
		if t, ok := p.(screen.Tabler); ok {
			all = append(all, t.Tables(inside(in))...)
		}
	}
	return all
}

// SetupAtCursor returns the setup that the pane draws in place of the one that is there.
func (v *View) SetupAtCursor(in *screen.Context) (*engine.Setup, string) {
	return screen.SetupAtCursor(v.panes[v.shown], inside(in))
}
