package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// maxMoves is the most moves that --moves takes.
const maxMoves = 100

func (a *app) adviseCommand() *cobra.Command {
	var flags setupFlags
	var output outputFlags
	moves := 8
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Show what would make a layout fit, or make it faster",
		Long: "Show why a layout does not fit and which changes would make it fit, or, if it fits, how the step time is spent and which changes make it faster. " +
			"The number of GPUs, the global batch, the sequence length and the number formats stay fixed.\n\n" +
			"Every move is applied and evaluated: all single-knob changes, all pairs, triples that extend the most promising pairs, the changes " +
			"that lead to the best layout of 'search', and further changes from there. Common rules of thumb are listed with the model's prediction, including those it contradicts.\n\n" +
			"Exit code: 0 the layout fits, 1 run-time error, 2 usage error, 3 illegal layout, 4 it does not fit.",
		Example: "meshscope advise --model llama3.1-70b --gpus 64 --tp 2 --pp 2 --gbs 512\nmeshscope advise --setup run.toml --json",
		Args:    cobra.ArbitraryArgs,
	}
	output.register(cmd, reportFormats(), string(report.JSON))
	cmd.Flags().Var(within(&moves, 1, maxMoves, ""), "moves", fmt.Sprintf("how many moves to list, 1 to %d", maxMoves))
	flags.register(cmd)
	a.completeIDs(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := output.settle(cmd); err != nil {
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
			return a.noFigures(s, output.format, flags.ownBatch)
		}
		of := report.Advice{Advice: &got, Library: a.lib, UnsetBatch: flags.ownBatch, Tornado: tornado(got.Knobs)}
		answer := report.Answer{Document: of.Document, Records: of.Records, Data: func() any { return newAdvice(&got, a.lib) }}
		if err = a.print(output.format, &answer); err != nil {
			return err
		}
		return verdict(&got.Report)
	})
	return cmd
}

// tornadoWidth is the length of the bars of the tornado, in cells.
const tornadoWidth = 40

// tornado draws one bar per knob, all on one logarithmic scale.
func tornado(knobs []advise.Knob) *report.Tornado {
	signs := widget.TornadoSigns(showsUnicode())
	var sides []widget.Sides
	for i := range knobs {
		sides = append(sides, overlay.Sides(&knobs[i]))
	}
	scale := widget.NewTornado(sides, tornadoWidth)
	out := &report.Tornado{Axis: scale.Axis, Legend: fmt.Sprintf("%s values that fit, %s values that do not fit; logarithmic scale: half and twice are equally far from now; %s the bar is cut off",
		signs[widget.TornadoFits], signs[widget.TornadoMisfit], signs[widget.TornadoBeyond])}
	for _, side := range sides {
		var bar strings.Builder
		for _, c := range scale.Cells(side) {
			bar.WriteString(signs[c])
		}
		out.Bars = append(out.Bars, bar.String())
	}
	return out
}

// adviceDocument is the JSON of advise.
type adviceDocument struct {
	header
	Setup  engine.Setup   `json:"setup"`
	Fits   bool           `json:"fits"`
	Terms  []advise.Term  `json:"memory_terms"`
	Limits []advise.Limit `json:"limits"`
	Moves  []moveDocument `json:"moves"`
	Looked advise.Looked  `json:"looked_at"`
	Knobs  []advise.Knob  `json:"knobs"`
	Rules  []ruleDocument `json:"rules"`
}

type moveDocument struct {
	Changes []compare.Change `json:"changes"`
	Flags   string           `json:"flags,omitempty"` // that give this setup; absent where no flags do
	Fits    bool             `json:"fits"`
	Step    float64          `json:"step_seconds"`
	Speed   float64          `json:"speed"`
	Peak    float64          `json:"peak_bytes"`
	Saved   float64          `json:"saved_bytes"`
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
		header: header{schemaVersion, version}, Setup: a.Setup, Fits: a.Report.Memory.Fits, Looked: a.Looked,
		Terms: listed(a.Terms), Limits: listed(a.Limits), Moves: []moveDocument{}, Knobs: listed(a.Knobs), Rules: []ruleDocument{},
	}
	for i := range d.Knobs {
		d.Knobs[i].Values = listed(d.Knobs[i].Values)
	}
	for i := range a.Moves {
		d.Moves = append(d.Moves, newMove(&a.Moves[i], lib))
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
