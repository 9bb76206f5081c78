package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/presets/near"
	"meshscope/report"
)

// explained is an explanation with the figures in its formula, to the requested depth.
type explained struct {
	*explain.Explanation
	Parts []explained `json:"parts"`
}

func newExplained(e *explain.Explanation, depth int) explained {
	out := explained{Explanation: e, Parts: []explained{}}
	if depth > 0 {
		for _, p := range e.Parts {
			out.Parts = append(out.Parts, newExplained(p, depth-1))
		}
	}
	return out
}

// maxExplainDepth bounds the size of the answer: a figure stands in many others.
const maxExplainDepth = 8

func (a *app) explainCommand() *cobra.Command {
	var flags setupFlags
	asJSON, depth := false, 1
	cmd := &cobra.Command{
		Use:   "explain [figure]",
		Short: "Show the formula of a figure, with its numbers and source",
		Long: "Show where a figure of a layout comes from: its formula, the formula with the numbers of " +
			"this layout, the result, the source, " +
			"what it leaves out, and the figures that it is computed from.\n\n" +
			"A figure is a name such as time.step, or a short word of 'scan --y' such as mfu. Of another " +
			"word (zero, ring, EXPERT-DP) explain tells what it means and which figures it has. Without " +
			"one, explain lists the figures of the report. " +
			"An explanation names the figures in its formula, down to a single matrix product; each of " +
			"these can be explained too.",
		Example: "meshscope explain\nmeshscope explain throughput.mfu --tp 8 --pp 2 --gbs 512\n" +
			"meshscope explain time.compute --depth 3 --json",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.Flags().Var(within(&depth, 0, maxExplainDepth, ""), "depth",
		fmt.Sprintf("levels of the formula to show, 0 to %d", maxExplainDepth))
	flags.register(a, cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Sprintf("explain takes one figure, given %d", len(args))}
		}
		if len(args) > 0 {
			if err := neverFigure(args[0]); err != nil { // before a search for the layout
				return err
			}
		}
		s, chosen, err := flags.start(cmd.Context(), a)
		if err != nil {
			return err
		}
		flags.sayTaken(a, "", &s, chosen)
		book, ok := explain.Of(s)
		if !ok {
			format := textFormat
			if asJSON {
				format = string(report.JSON)
			}
			return a.noFigures(s, format, &flags)
		}
		if len(args) == 0 {
			return a.listFigures(book, s, chosen, asJSON)
		}
		id, _ := figures.ByWord(args[0])
		r := engine.Evaluate(s)
		e, ok := book.Explain(figures.OfRank(&r, id))
		if !ok {
			return a.explainOther(book, s, id, args[0], asJSON)
		}
		if asJSON {
			return a.writeJSON(struct {
				report.Header
				Chosen *search.Chosen `json:"layout_chosen,omitempty"`
				Setup  engine.Setup   `json:"setup"`
				Figure explained      `json:"explanation"`
			}{report.NewHeader(version), chosen, s, newExplained(e, depth)})
		}
		return a.print(textFormat,
			&report.Answer{Document: func() *report.Document { return report.Explanation(e, depth) }})
	})
	return cmd
}

// explainOther explains what is no figure of the setup: a word, or why it has no such figure.
func (a *app) explainOther(book *explain.Book, s engine.Setup, id, given string, asJSON bool) error {
	if lacks := figures.Lacking(s, id); lacks != "" {
		return &usageError{fmt.Sprintf("figure %s needs --%s", escape.Line(given), lacks)}
	}
	if id == "memory.free" {
		return &usageError{"free is usable memory minus memory.peak; see 'meshscope explain peak'"}
	}
	word, found, err := explainedWord(book, given)
	switch {
	case err != nil:
		return err
	case found:
		return a.printWord(word, &s, asJSON)
	}
	return unknownFigure(book.IDs(), given)
}

// neverFigure returns an error for a name that no setup has a figure of, and that is no word: every
// figure has a dot in its name.
func neverFigure(given string) error {
	if id, _ := figures.ByWord(given); strings.Contains(id, ".") {
		return foreignFigure(id)
	}
	book, ok := explain.Of(presets.DefaultSetup())
	if !ok {
		return nil
	}
	if _, found, err := explainedWord(book, given); found || err != nil {
		return err
	}
	return unknownFigure(book.IDs(), given)
}

// noFigures prints the report of an illegal setup, as eval does.
func (a *app) noFigures(s engine.Setup, format string, flags *setupFlags) error {
	r := engine.Evaluate(s)
	if err := a.printReport(format, &s, &r, flags, nil); err != nil {
		return err
	}
	return verdict(&r)
}

func (a *app) listFigures(book *explain.Book, s engine.Setup, chosen *search.Chosen, asJSON bool) error {
	all := book.Figures()
	if asJSON {
		return a.writeJSON(struct {
			report.Header
			Chosen  *search.Chosen   `json:"layout_chosen,omitempty"`
			Setup   engine.Setup     `json:"setup"`
			Figures []figures.Figure `json:"figures"`
		}{report.NewHeader(version), chosen, s, all})
	}
	t := &report.Table{Head: []string{"figure", "value", "meaning"}, Width: maxWidth}
	for _, f := range all {
		if e, ok := book.Explain(f.ID); ok {
			t.Rows = append(t.Rows, report.Cells(f.ID, e.Text(), e.Name))
		}
	}
	return a.print(textFormat, report.Blocks("", t))
}

// unknownFigure returns the error of a name that is none of the ids of figures, with those that are like it.
func unknownFigure(ids []string, typed string) error {
	message := fmt.Sprintf("unknown figure %s", escape.Quote(typed))
	if words := near.Words(typed, ids, 3); len(words) > 0 {
		message += ": did you mean " + strings.Join(words, ", ") + "?"
	}
	return &usageError{message + "; 'meshscope explain' lists all figures"}
}
