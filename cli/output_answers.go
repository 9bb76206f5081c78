package cli

import (
	"io"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/escape"
	"meshscope/presets/setupdoc"
	"meshscope/ui/export"
)

// scanAnswer, searchAnswer, comparison and advice are the answers of the commands.
type scanAnswer struct {
	app *app
	of  *scanned
}

func (s scanAnswer) text() error            { return s.of.writeText(s.app.stdout) }
func (s scanAnswer) json() any              { return s.of.document() }
func (s scanAnswer) csv(to io.Writer) error { return s.of.writeCSV(to) }

type searchAnswer struct {
	app *app
	of  *answer
}

func (s searchAnswer) text() error            { return s.of.writeText(s.app) }
func (s searchAnswer) json() any              { return s.of.document(s.app) }
func (s searchAnswer) csv(to io.Writer) error { return s.of.writeCSV(s.app, to) }

type comparison struct {
	app  *app
	of   *engine.Comparison
	way  []engine.Move
	args []string
}

func (c comparison) text() error { return writeComparison(c.app.stdout, c.of, c.way, c.args) }
func (c comparison) json() any   { return c.app.newComparison(c.of, c.way) }

// csv writes what changed, then a line for each figure.
func (c comparison) csv(to io.Writer) error {
	w := escape.NewCSV(to)
	w.Write("part", "name", "a", "b", "change", "ratio", "unit")
	for _, x := range c.of.Changes {
		w.Write("setup", x.Field, x.A, x.B, "", "", "")
	}
	exact := func(v *float64) string {
		if v == nil {
			return ""
		}
		return export.Digits(*v)
	}
	for i := range c.of.Deltas {
		d := &c.of.Deltas[i]
		var change, ratio *float64
		if v, ok := d.Change(); ok {
			change = &v
		}
		if v, ok := d.Ratio(); ok {
			ratio = &v
		}
		w.Write(string(d.Group), d.Name, exact(d.A), exact(d.B), exact(change), exact(ratio), string(d.Unit))
	}
	return w.Close()
}

type adviceAnswer struct {
	app      *app
	of       *advise.Advice
	ownBatch bool
}

func (a adviceAnswer) text() error { return a.app.writeAdvice(a.of, a.ownBatch) }
func (a adviceAnswer) json() any   { return newAdvice(a.of, a.app.lib) }

// csv writes a line for the setup and one for each move.
func (a adviceAnswer) csv(to io.Writer) error {
	w := escape.NewCSV(to)
	w.Write("move", "follows", "fits", "step_seconds", "speed", "peak_bytes", "saved_bytes", "command")
	exact := export.Digits
	line := func(name, follows string, fits bool, r *engine.Report, speed, saved float64, s engine.Setup) {
		command := ""
		if flags, ok := setupdoc.Flags(s, a.app.lib); ok {
			command = "meshscope eval " + flags
		}
		w.Write(name, follows, strconv.FormatBool(fits), exact(float64(r.Time.Step)), exact(speed), exact(float64(r.Memory.Peak)), exact(saved), command)
	}
	line("as it is", "", a.of.Report.Memory.Fits, &a.of.Report, 1, 0, a.of.Setup)
	for i := range a.of.Moves {
		m := &a.of.Moves[i]
		line(m.Turns(), followedWords(m), m.Fits, &m.Report, m.Speed, float64(m.Saved), m.Setup)
	}
	return w.Close()
}
