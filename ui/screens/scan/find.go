package scan

import (
	"slices"
	"strings"

	"meshscope/engine/figures"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// find is the search for a figure by a part of its name.
type find struct {
	on     bool
	part   textbox.Field
	names  []string // that can be found
	before string   // the figure that esc goes back to
	none   bool     // no name has what was typed
	lacks  string   // a figure of the whole run that has it, were the run known
}

// Typing says that letters go into the name of a figure.
func (v *View) Typing() bool { return v.find.on }

// Paste puts pasted text into the name that is typed.
func (v *View) Paste(text string) {
	v.find.part.Paste(text)
	v.found()
}

func (v *View) startFinding(in *screen.Context) {
	f := &v.find
	f.on, f.names, f.before, f.none = true, figureIDs(in.Report), v.figure, false
	f.part.Reset()
	v.at, v.inChart = figureChoice, false
}

// Prompt returns the footer while a name is typed.
func (*View) Prompt() []widget.Hint {
	return []widget.Hint{{Key: "enter", Text: "takes it"}, {Key: "esc", Text: "previous figure"}}
}

// Type takes a key of the name that is typed.
func (v *View) Type(_ *screen.Context, key string) screen.Request {
	switch f := &v.find; key {
	case "enter":
		f.on = false
	case "esc":
		f.on, v.figure = false, f.before
	default:
		f.part.Type(key)
		v.found()
	}
	return screen.Request{}
}

// found goes to the first figure that has what is typed in its name or in its words;
// where none has, it stays at that of before.
func (v *View) found() {
	f := &v.find
	part := strings.ToLower(f.part.Value())
	has := func(id string) bool {
		return strings.Contains(id, part) || strings.Contains(strings.ToLower(words(id)), part)
	}
	at := slices.IndexFunc(f.names, func(id string) bool { return strings.Contains(id, part) })
	if at < 0 {
		at = slices.IndexFunc(f.names, has)
	}
	if f.none, f.lacks = at < 0, ""; !f.none {
		v.figure = f.names[at]
		return
	}
	v.figure = f.before
	for _, w := range figures.Words() {
		if strings.HasPrefix(w.ID, "run.") && (has(w.ID) || w.Word == part) {
			f.lacks = w.Name
		}
	}
}

// line draws what is typed and what it finds.
func (f *find) line(in *screen.Context, l *widget.Line, figure string) {
	l.Put(in.Paint(themes.Key), "find").Gap(1)
	in.Typed(l, &f.part)
	l.Gap(2)
	if f.none {
		text := "no figure name contains this"
		if f.lacks != "" {
			text = "the " + f.lacks + " needs tokens (and a price): r sets them"
		}
		l.Put(in.Paint(themes.Bad), in.Cut(text, l.Left()))
		return
	}
	l.Put(in.Paint(themes.Focus), in.Cut(words(figure), l.Left()))
}
