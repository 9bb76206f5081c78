package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// Advice is the advice about a setup.
type Advice struct {
	*advise.Advice
	Library    *presets.Library
	UnsetBatch bool           // no global batch was given
	Chosen     *search.Chosen // how the layout was found where no degree was given; nil: it was given
	// Tornado has a bar for each knob; nil: none is drawn.
	Tornado *Tornado
	// Deadline is how long the run of the setup's tokens may take; 0: any time.
	Deadline units.Seconds
	Missed   *search.Missed // if the setup misses it and no move meets it
}

// InTime reports whether the setup or a move meets the deadline.
func (a *Advice) InTime() bool {
	return a.meets(&a.Report, a.PessimisticStep) || a.firstInTime() != nil
}

// firstInTime returns the first move that fits and meets the deadline; nil where none does.
func (a *Advice) firstInTime() *advise.Move {
	for i := range a.Moves {
		if m := &a.Moves[i]; m.Fits && a.meets(&m.Report, m.PessimisticStep) {
			return m
		}
	}
	return nil
}

// Tornado is a bar for each knob, drawn.
type Tornado struct {
	Bars   []string
	Axis   int    // the cell of the step now
	Legend string // what the signs mean
}

// EvalCommand returns the command line that gives a setup; "" if no flags do.
func EvalCommand(s engine.Setup, lib *presets.Library) string {
	flags, ok := setupdoc.Flags(s, lib)
	if !ok {
		return ""
	}
	return "meshscope eval " + flags
}

// Document returns the advice for people.
func (a *Advice) Document() *Document {
	out := &Document{
		Title: Title(&a.Setup),
		Sections: []Section{SetupSection(&a.Setup, &a.Report, a.UnsetBatch &&
			(a.Chosen == nil || len(a.Chosen.Knobs) == 0))},
	}
	out.Sections = append(out.Sections, problems(&a.Report)...)
	out.Sections = append(out.Sections, a.state()...)
	if a.Report.Run != nil {
		out.Sections = append(out.Sections, a.run())
	}
	out.Sections = append(out.Sections, a.moves())
	if len(a.Knobs) > 0 {
		out.Sections = append(out.Sections, a.steps(), a.memory())
	}
	if len(a.Rules) > 0 {
		out.Sections = append(out.Sections, a.rules())
	}
	out.sayNoEffects(noEffects("", &a.Setup, &a.Report, unchosen(a.Chosen)))
	return out
}

// state tells whether the setup fits, and what fills its memory or its step.
func (a *Advice) state() []Section {
	m := a.Report.Memory
	t := &Table{Head: []string{"", "", ""}}
	if m.Fits { // what limits it is its step
		for _, l := range a.Limits {
			t.add(Word(l.Name), fine(record.Seconds, l.Seconds), Figure(record.Share, l.Share))
		}
		heading, but := "Fits", ""
		if m.Fit == engine.Tight {
			heading, but = "Tight", "free memory is less than the error band: "
		}
		return []Section{
			{Heading: heading, Lead: but + fmt.Sprintf("%.1f GiB %s of %.1f GiB; a step takes %s %s, MFU %s",
				m.Peak.GiB(), m.Band("±"), m.Usable.GiB(), figure.Headline(a.Report.Time.Step),
				a.Report.Time.Band("±"), figure.Percent(a.Report.Throughput.MFU))},
			{Heading: "Where the step time goes", Blocks: []Block{t}},
		}
	}
	for _, term := range a.Terms {
		t.add(Word(term.Name), Figure(record.Memory, float64(term.Bytes)), Figure(record.Share, term.Share))
	}
	over := Section{Heading: "Over", Lead: m.Reason}
	if m.Fit == engine.Tight {
		over.Heading, over.Lead = "Tight", tightWords(m)+": "+m.Reason
	}
	if at := MomentOfPeak(&a.Setup, &a.Report); at != nil {
		over.say(at.Words())
	}
	return []Section{over, {Heading: "Memory of the fullest rank", Blocks: []Block{t}}}
}

// run tells what the whole run takes now, and whether that meets the deadline.
func (a *Advice) run() Section {
	r := a.Report.Run
	out := Section{
		Heading: "Whole run",
		Lead: figure.FineCount(r.Tokens) + " tokens in " + figure.Days(r.Days) + ", " +
			figure.Short(r.GPUHours) + " GPU-hours",
	}
	if r.Cost != nil {
		out.Lead += ", " + figure.Dollars(*r.Cost)
	}
	if a.Deadline <= 0 {
		return out
	}
	if a.meets(&a.Report, a.PessimisticStep) {
		out.say("It meets the deadline of " + figure.Lasting(a.Deadline) + ".")
		return out
	}
	missed := "It misses the deadline of " + figure.Lasting(a.Deadline)
	if m := a.firstInTime(); m != nil {
		out.say(missed + "; the first move that meets it: " + m.Turns() + ".")
		return out
	}
	missed += ", and no move listed meets it"
	if a.Missed != nil {
		missed += ": " + MissedWords(a.Missed, a.Deadline)
	}
	out.say(missed + ".")
	return out
}

// meets reports whether a run ends within the deadline at the slow end of its step, as a search
// asks.
func (a *Advice) meets(r *engine.Report, slow units.Seconds) bool {
	return r.Run.Seconds*r.Time.SlowEnd(slow)/r.Time.Step <= a.Deadline
}

// moves lists the changes that help, with the command line of the first one that leaves a margin.
func (a *Advice) moves() Section {
	out := Section{Heading: "Moves", Lead: a.Promise()}
	if len(a.Moves) == 0 {
		out.say("None found, after all changes of knobs and all layouts of the search.")
	}
	t := &Table{
		Head:  []string{"change", "also changes", "step", "speed", "peak GiB", "memory GiB"},
		Spare: []string{"memory GiB", "to", "speed"},
	}
	unproven := slices.ContainsFunc(a.Moves,
		func(m advise.Move) bool { return m.PessimisticStep > m.Report.Time.Step }) ||
		a.PessimisticStep > a.Report.Time.Step
	if unproven {
		t.Head = slices.Insert(t.Head, 3, "to")
	}
	if a.Report.Run != nil {
		t.Head = append(t.Head, "days", "cost")
	}
	tight, tie := false, false
	for i := range a.Moves {
		m := &a.Moves[i]
		turns, speed := m.Turns(), fmt.Sprintf("x%.3f", m.Speed)
		if a.TooClose(m) {
			speed, tie = "~"+speed, true
		}
		if m.Fits && !m.Roomy {
			turns, tight = "? "+turns, true
		}
		t.add(Word(turns), Word(follows(m)), fine(record.Seconds, m.Report.Time.Step),
			written(speed, record.Count, m.Speed),
			written(fmt.Sprintf("%.1f", m.Report.Memory.Peak.GiB()), record.Memory, m.Report.Memory.Peak),
			written(figure.Signed(-m.Saved.GiB(), 1), record.Memory, -m.Saved))
		if row := &t.Rows[i]; unproven {
			*row = slices.Insert(*row, 3, fine(record.Seconds, m.PessimisticStep))
		}
		if row := &t.Rows[i]; a.Report.Run != nil {
			days := right(fmt.Sprintf("%.1f", m.Report.Run.Days))
			if a.Deadline > 0 && a.meets(&m.Report, m.PessimisticStep) {
				days = right("in time " + fmt.Sprintf("%.1f", m.Report.Run.Days))
			}
			*row = append(*row, days, right(costWords(m.Report.Run)))
		}
	}
	if len(t.Rows) > 0 {
		out.add(t)
		if unproven {
			out.say(fmt.Sprintf("to, speed: of the step "+advise.SlowEnd+" (all-to-all of "+
				"experts, ZeRO traffic of every micro-batch), %s now; moves are ranked by it",
				figure.FineSeconds(a.PessimisticStep)))
		}
		if tie {
			out.say("~ too close to call: within a quarter of the error band of the step now")
		}
		if tight {
			out.say("? no margin: leaves less of the memory free than is asked for, or than its error band")
		}
		a.lastReasons(&out)
		a.command(&out)
	}
	out.say(a.Looked.Words(figure.Comma))
	if words := a.Untried(); words != "" {
		out.say(words)
	}
	return out
}

// command gives the command line of the first move that leaves a margin.
func (a *Advice) command(s *Section) {
	first := a.First()
	if first == nil {
		return
	}
	if command := EvalCommand(first.Setup, a.Library); command != "" {
		words := "Command of the first one:"
		if first != &a.Moves[0] {
			words = "Command of the first one with margin:"
		}
		s.say(words)
		s.add(Command(command))
	}
}

// lastReasons tells why moves come after the others.
func (a *Advice) lastReasons(s *Section) {
	for i := range a.Moves {
		if m := &a.Moves[i]; m.Last != "" {
			s.say("comes last: " + m.Turns() + ": " + m.Last)
		}
	}
}

func follows(m *advise.Move) string {
	if words := m.Follows(); words != "" {
		return words
	}
	return "-"
}

// steps lists what each knob alone does to the step time.
func (a *Advice) steps() Section {
	t := &Table{
		Head:  []string{"knob", "now", "faster", "", "slower", "best that fits"},
		Spare: []string{"slower", "faster"},
	}
	if a.Tornado != nil {
		t.Head[3] = strings.Repeat(" ", max(a.Tornado.Axis-1, 0)) + "now"
	}
	for i := range a.Knobs {
		k, best := a.Knobs[i].Expected(), a.Knobs[i].Best()
		bar := ""
		if a.Tornado != nil {
			bar = a.Tornado.Bars[i]
		}
		fastest, slowest := k.Ends()
		t.add(Word(string(k.ID)), Word(briefValue(k.ID, k.Current)), Word(endWords(&k, fastest)),
			picture(bar), Word(endWords(&k, slowest)), Word(bestWords(k.ID, best, k.Current)))
	}
	out := Section{
		Heading: "Each knob alone",
		Lead: "step time at its fastest and slowest value, now " + figure.Headline(a.Report.Time.Step) +
			", and the best value that fits",
		Blocks: []Block{t},
	}
	if a.Tornado != nil {
		out.say(a.Tornado.Legend)
	}
	if a.PessimisticStep > a.Report.Time.Step {
		out.say("order, best: of the step " + advise.SlowEnd + ", " +
			figure.FineSeconds(a.PessimisticStep) + " now")
	}
	out.say("x does not fit, ! some launcher rejects it")
	return out
}

// memory lists what each knob alone does to the memory, and at which values the setup fits.
func (a *Advice) memory() Section {
	t := &Table{Head: []string{"knob", "peak GiB", "fits at"}}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		t.add(Word(string(k.ID)), Word(fmt.Sprintf("%.1f to %.1f", k.Least.GiB(), k.Most.GiB())),
			Word(fittingWords(k, a.Report.Memory.Usable)))
	}
	return Section{
		Heading: "Each knob alone",
		Lead: "peak memory over its other values, and the values that fit (~ by less than the error band, " +
			"! some launcher rejects it)",
		Blocks: []Block{t},
	}
}

// endWords returns the step time at one end of a knob, and its value.
func endWords(k *advise.Knob, v *advise.Value) string {
	if v == &k.Now {
		return "now"
	}
	text := figure.FineSeconds(v.Step) + " at " + v.Text
	switch {
	case !v.Fits:
		text += " x"
	case v.Refused:
		text += " !"
	}
	return text
}

// briefValue returns the value that a knob has, which the lines above say in full, for a narrow column.
func briefValue(id knob.ID, text string) string {
	if id == knob.Recompute {
		text = recipe.BriefRecompute(text)
	}
	return ansi.Truncate(text, narrow, "...")
}

// bestWords returns the best fitting value of a knob, with its expected step.
func bestWords(id knob.ID, best *advise.Value, now string) string {
	switch {
	case best == nil:
		return "no value fits"
	case best.Text == now:
		return briefValue(id, now) + " (now)"
	case best.Refused:
		return best.Text + ", " + figure.FineSeconds(best.Expected) + " !"
	default:
		return best.Text + ", " + figure.FineSeconds(best.Expected)
	}
}

// fittingWords returns the other values of a knob at which the setup fits; ~ is one that is tight, ! one that
// some launcher rejects.
func fittingWords(k *advise.Knob, usable units.Bytes) string {
	const most = 6 // on a line
	var fit []string
	for _, v := range k.Values {
		if !v.Fits {
			continue
		}
		text := v.Text
		if engine.FitWithin(v.Peak, usable, v.PeakBand) == engine.Tight {
			text = "~" + text
		}
		if v.Refused {
			text += "!"
		}
		fit = append(fit, text)
	}
	n := len(k.Values)
	switch {
	case len(fit) == 0:
		return fmt.Sprintf("none of %d", n)
	case len(fit) == n && n > most:
		return fmt.Sprintf("all %d", n)
	case len(fit) > most:
		return fmt.Sprintf("%s and %d more of %d", strings.Join(fit[:most-1], " "), len(fit)-most+1, n)
	}
	return strings.Join(fit, " ")
}

func (a *Advice) rules() Section {
	out := Section{Heading: "Rules of thumb", Lead: "and what meshscope predicts"}
	for i := range a.Rules {
		r := &a.Rules[i]
		verdict := r.Verdict.Words()
		if why := r.Reason(); why != "" {
			verdict += ": " + why
		}
		out.add(Item{r.ID + ": " + r.Text, []string{verdict, "source: " + r.Source}})
	}
	return out
}

// Records returns a row for the setup and one for each move.
func (a *Advice) Records() *Table {
	t := &Table{Head: []string{
		"move", "follows", "fits", "step_seconds", "pessimistic_step_seconds", "speed",
		"peak_bytes", "saved_bytes", "error_band_step", "error_band_memory", "command",
	}}
	row := func(name, follows string, fits bool, r *engine.Report, pessimistic units.Seconds, speed,
		saved float64, s engine.Setup,
	) {
		t.add(Word(name), Word(follows), Word(strconv.FormatBool(fits)), exactly(r.Time.Step),
			exactly(pessimistic), exactly(speed), exactly(r.Memory.Peak), exactly(saved),
			exactly(r.Time.ErrorBand), exactly(r.Memory.ErrorBand), Word(EvalCommand(s, a.Library)))
	}
	row("current setup", "", a.Report.Memory.Fits, &a.Report, a.PessimisticStep, 1, 0, a.Setup)
	for i := range a.Moves {
		m := &a.Moves[i]
		row(m.Turns(), follows(m), m.Fits, &m.Report, m.PessimisticStep, m.Speed, float64(m.Saved), m.Setup)
	}
	return t
}

// costWords returns the cost of a run; a dash if no price is known.
func costWords(r *engine.Run) string {
	if r.Cost == nil {
		return "-"
	}
	return figure.Dollars(*r.Cost)
}
