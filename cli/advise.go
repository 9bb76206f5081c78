package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// maxMoves bounds the list that --moves asks for.
const maxMoves = 100

func (a *app) adviseCommand() *cobra.Command {
	var flags setupFlags
	asJSON, moves, format := false, 8, textFormat
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Say why a layout does not fit, or what limits it, and what to turn",
		Long: "Say why a layout does not fit and which turns of which knobs make it fit, or, where it fits, what the step is " +
			"spent on and which turns make it faster. GPUs, global batch, sequence and number formats stay as they are. Every " +
			"move is applied and evaluated: knobs one by one, in pairs, in threes that begin with the most promising pairs, and " +
			"all of them on the way to the best layout that 'search' knows, and on from it. Rules of thumb of the field stand beside what the model predicts of them, also where they disagree.\n\n" +
			"It ends as eval does: 0 where the layout fits, 3 where it is illegal, 4 where it does not fit.",
		Example: "meshscope advise --model llama3.1-70b --gpus 64 --tp 2 --pp 2 --gbs 512\nmeshscope advise --setup run.toml --json",
		Args:    cobra.ArbitraryArgs,
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.Flags().Var(within(&moves, 1, maxMoves, ""), "moves", fmt.Sprintf("how many moves to list, 1 to %d", maxMoves))
	flags.register(cmd)
	a.completeIDs(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		var err error
		if format, err = settled(cmd, format, asJSON, false); err != nil {
			return err
		}
		if len(args) > 0 {
			return &usageError{fmt.Sprintf("advise takes no arguments, given %s", escape.Quote(args[0]))}
		}
		s, err := flags.setup(a)
		if err != nil {
			return err
		}
		got, ok := advise.For(s, advise.Options{Moves: moves})
		if !ok {
			return a.noFigures(s, format)
		}
		if err = a.print(format, adviceAnswer{a, &got, flags.ownBatch}); err != nil {
			return err
		}
		return verdict(&got.Report)
	})
	return cmd
}

// writeAdvice prints advice for people. ownBatch tells that nobody said the global
// batch.
func (p *app) writeAdvice(a *advise.Advice, ownBatch bool) error {
	t := &textReport{page: newPage(p.stdout), setup: &a.Setup, report: &a.Report, ownBatch: ownBatch}
	t.head()
	out := t.page
	if m := a.Report.Memory; m.Fits {
		out.printf("\nFITS  %.1f of %.1f GiB, %s; a step takes %s, MFU %s\n", m.Peak.GiB(), m.Usable.GiB(), m.Band("within "), seconds(a.Report.Time.Step), figure.Percent(a.Report.Throughput.MFU))
		out.printf("\nWHAT A STEP IS SPENT ON\n")
		rows := [][]string{}
		for _, l := range a.Limits {
			rows = append(rows, []string{"  " + l.Name, seconds(l.Seconds), figure.Percent(l.Share)})
		}
		out.table(rows)
	} else {
		out.printf("\nDOES NOT FIT  %s\n", m.Reason)
		out.printf("\nWHAT THE FULLEST RANK HOLDS\n")
		rows := [][]string{}
		for _, term := range a.Terms {
			rows = append(rows, []string{"  " + term.Name, figure.GiB(term.Bytes) + " GiB", figure.Percent(term.Share)})
		}
		out.table(rows)
	}
	out.printf("\nMOVES %s\n", a.Promise())
	writeMoves(out, a.Moves)
	p.writeInFull(out, a.Moves)
	out.lines("  " + a.Looked.Words(commas))
	writeKnobs(out, a)
	writeRules(out, a.Rules)
	return out.Flush()
}

// writeInFull gives the command lines of the first move, and of the fastest where that
// is another one.
func (p *app) writeInFull(out page, moves []advise.Move) {
	if len(moves) == 0 {
		return
	}
	fastest := 0
	for i := range moves {
		if moves[i].Speed > moves[fastest].Speed && moves[i].Fits {
			fastest = i
		}
	}
	put := func(name string, i int) {
		if flags, ok := setupdoc.Flags(moves[i].Setup, p.lib); ok {
			out.printf("  the %s of them in full:\n    meshscope eval %s\n", name, flags)
		}
	}
	put("first", 0)
	if fastest > 0 {
		put("fastest", fastest)
	}
}

func writeMoves(out page, moves []advise.Move) {
	if len(moves) == 0 {
		out.printf("  none that is known: every turn of the knobs and every layout of the search was tried\n")
		return
	}
	rows := [][]string{{"  turn", "what follows", "step", "speed", "peak GiB", "saved GiB"}}
	for i := range moves {
		m := &moves[i]
		rows = append(rows, []string{
			"  " + m.Turns(), followedWords(m), seconds(m.Report.Time.Step), fmt.Sprintf("x%.3f", m.Speed),
			fmt.Sprintf("%.1f", m.Report.Memory.Peak.GiB()), figure.Signed(m.Saved.GiB(), 1),
		})
	}
	out.table(rows)
}

func followedWords(m *advise.Move) string {
	if words := m.Follows(); words != "" {
		return words
	}
	return "-"
}

// tornadoWidth is the length of the bars of the tornado, in cells.
const tornadoWidth = 40

// writeKnobs draws the tornado, a bar for each knob, then what each does to the memory.
func writeKnobs(out page, a *advise.Advice) {
	if len(a.Knobs) == 0 {
		return
	}
	full, weak, axis := glyphs()
	unicode := full != "#"
	signs := widget.TornadoSigns(unicode)
	signs[widget.TornadoFits], signs[widget.TornadoMisfit], signs[widget.TornadoAxis] = full, weak, axis
	var bars []widget.Sides
	for i := range a.Knobs {
		bars = append(bars, overlay.Sides(&a.Knobs[i]))
	}
	scale := widget.NewTornado(bars, tornadoWidth)
	out.printf("\nEACH KNOB ALONE, its fastest and slowest value around a step of %s now, and the best that fits\n", seconds(a.Report.Time.Step))
	head := strings.Repeat(" ", max(scale.Axis-1, 0)) + "now"
	rows := [][]string{{"  knob", "now", "faster", head, "slower", "best that fits"}}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		var bar strings.Builder
		for _, c := range scale.Cells(bars[i]) {
			bar.WriteString(signs[c])
		}
		fastest, slowest := k.Ends()
		rows = append(rows, []string{"  " + string(k.ID), k.Current, endWords(k, fastest), bar.String(), endWords(k, slowest), bestWords(k)})
	}
	out.table(rows)
	out.printf("  %s as far as a value fits, %s further, where none does; x does not fit, ! some launcher refuses it\n"+
		"  one logarithmic scale: half and twice are as far from now; %s the bar goes on\n", full, weak, signs[widget.TornadoBeyond])
	out.printf("\nEACH KNOB ALONE, its memory, and at which other values it fits\n")
	rows = [][]string{{"  knob", "peak GiB", "fits at"}}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		rows = append(rows, []string{"  " + string(k.ID), fmt.Sprintf("%.1f to %.1f", k.Least.GiB(), k.Most.GiB()), fittingWords(k)})
	}
	out.table(rows)
}

// endWords are the step at one end of a knob, and at which value.
func endWords(k *advise.Knob, v *advise.Value) string {
	if v == &k.Now {
		return "now"
	}
	text := seconds(v.Step) + " at " + v.Text
	switch {
	case !v.Fits:
		text += " x"
	case v.Refused:
		text += " !"
	}
	return text
}

// bestWords are the value of a knob with the shortest step of those that fit.
func bestWords(k *advise.Knob) string {
	switch best := k.Best(); {
	case best == nil:
		return "none"
	case best == &k.Now:
		return best.Text + " (now)"
	default:
		return best.Text + ", " + seconds(best.Step)
	}
}

// mostListed is how many values of a knob a line lists.
const mostListed = 6

// fittingWords are the other values of a knob at which the setup fits.
func fittingWords(k *advise.Knob) string {
	var fit []string
	for _, v := range k.Values {
		if v.Fits {
			fit = append(fit, v.Text)
		}
	}
	n := len(k.Values)
	switch {
	case len(fit) == 0:
		return fmt.Sprintf("none of %d", n)
	case len(fit) == n && n > mostListed:
		return fmt.Sprintf("all %d", n)
	case len(fit) > mostListed:
		return fmt.Sprintf("%s and %d more of %d", strings.Join(fit[:mostListed-1], " "), len(fit)-mostListed+1, n)
	}
	return strings.Join(fit, " ")
}

func writeRules(out page, rules []advise.Rule) {
	if len(rules) == 0 {
		return
	}
	out.printf("\nRULES OF THUMB, and what the model says\n")
	for i := range rules {
		r := &rules[i]
		line := r.Verdict.Words()
		if reason := r.Reason(); reason != "" {
			line += ": " + reason
		}
		out.printf("  %s: %s\n    %s\n    source: %s\n", r.ID, r.Text, line, r.Source)
	}
}

// adviceDocument is the JSON of advise.
type adviceDocument struct {
	header
	Setup  engine.Setup   `json:"setup"`
	Fits   bool           `json:"fits"`
	Terms  []termDocument `json:"memory_terms"`
	Limits []limitDoc     `json:"limits"`
	Moves  []moveDocument `json:"moves"`
	Looked lookedDocument `json:"looked_at"`
	Knobs  []knobDocument `json:"knobs"`
	Rules  []ruleDocument `json:"rules"`
}

type termDocument struct {
	Name  string  `json:"name"`
	Bytes float64 `json:"bytes"`
	Share float64 `json:"share"`
}

type limitDoc struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

type moveDocument struct {
	Changes []engine.Change `json:"changes"`
	Flags   string          `json:"flags,omitempty"` // that give the setup again, where flags can
	Fits    bool            `json:"fits"`
	Step    float64         `json:"step_seconds"`
	Speed   float64         `json:"speed"`
	Peak    float64         `json:"peak_bytes"`
	Saved   float64         `json:"saved_bytes"`
}

// lookedDocument is what the moves were chosen from, in setups.
type lookedDocument struct {
	Singles int `json:"singles"`
	Pairs   int `json:"pairs"`
	Triples int `json:"triples"`
	Beam    int `json:"triples_from_pairs"`
	Layouts int `json:"search_layouts"`
	Further int `json:"on_from_the_best"`
}

type knobDocument struct {
	Knob    knob.ID         `json:"knob"`
	Current string          `json:"current"`
	Values  []valueDocument `json:"values"`
}

type valueDocument struct {
	Value string  `json:"value"`
	Step  float64 `json:"step_seconds"`
	Peak  float64 `json:"peak_bytes"`
	Fits  bool    `json:"fits"`
	// Refused: some launcher would not run it, though all would run the setup.
	Refused bool `json:"refused,omitempty"`
}

type ruleDocument struct {
	ID      string         `json:"id"`
	Text    string         `json:"text"`
	Source  string         `json:"source"`
	Verdict advise.Verdict `json:"verdict"`
	Why     string         `json:"why,omitempty"`
	Move    *moveDocument  `json:"move,omitempty"`
}

func newAdvice(a *advise.Advice, lib *presets.Library) adviceDocument {
	d := adviceDocument{
		header: header{schemaVersion, version}, Setup: a.Setup, Fits: a.Report.Memory.Fits, Looked: lookedDocument(a.Looked),
		Terms: []termDocument{}, Limits: []limitDoc{}, Moves: []moveDocument{}, Knobs: []knobDocument{}, Rules: []ruleDocument{},
	}
	for _, t := range a.Terms {
		d.Terms = append(d.Terms, termDocument{t.Name, float64(t.Bytes), t.Share})
	}
	for _, l := range a.Limits {
		d.Limits = append(d.Limits, limitDoc{l.Name, float64(l.Seconds), l.Share})
	}
	for i := range a.Moves {
		d.Moves = append(d.Moves, newMove(&a.Moves[i], lib))
	}
	for _, k := range a.Knobs {
		doc := knobDocument{k.ID, k.Current, []valueDocument{}}
		for _, v := range k.Values {
			doc.Values = append(doc.Values, valueDocument{v.Text, float64(v.Step), float64(v.Peak), v.Fits, v.Refused})
		}
		d.Knobs = append(d.Knobs, doc)
	}
	for _, r := range a.Rules {
		doc := ruleDocument{ID: r.ID, Text: r.Text, Source: r.Source, Verdict: r.Verdict, Why: r.Why}
		if r.Move != nil {
			m := newMove(r.Move, lib)
			doc.Move = &m
		}
		d.Rules = append(d.Rules, doc)
	}
	return d
}

func newMove(m *advise.Move, lib *presets.Library) moveDocument {
	flags, _ := setupdoc.Flags(m.Setup, lib)
	return moveDocument{
		Changes: m.Changes, Flags: flags, Fits: m.Fits, Step: float64(m.Report.Time.Step), Speed: m.Speed,
		Peak: float64(m.Report.Memory.Peak), Saved: float64(m.Saved),
	}
}
