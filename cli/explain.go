package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/report"
)

// explained is an explanation with the figures in its formula, as deep as was
// asked for.
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
		Short: "Say where a figure comes from: formula, numbers, source",
		Long: "Say where a figure of a layout comes from: its formula, the same with the numbers of the layout, the result,\n" +
			"its source, what it leaves out, and the figures that it is made of. A figure is a name or a short word of 'scan --y', such as mfu. Without one it lists those of the report;\n" +
			"their parts, down to a single matrix product, can be asked for by the names that an explanation shows.",
		Example: "meshscope explain\nmeshscope explain throughput.mfu --tp 8 --pp 2 --gbs 512\n" +
			"meshscope explain time.compute --depth 3 --json",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.Flags().Var(within(&depth, 0, maxExplainDepth, ""), "depth", fmt.Sprintf("how far down to go, 0 to %d", maxExplainDepth))
	flags.register(cmd)
	a.completeIDs(cmd)
	cmd.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Sprintf("explain takes one figure, given %d", len(args))}
		}
		s, err := flags.setup(a)
		if err != nil {
			return err
		}
		book, ok := explain.Of(s)
		if !ok {
			format := textFormat
			if asJSON {
				format = string(report.JSON)
			}
			return a.noFigures(s, format, flags.ownBatch)
		}
		if len(args) == 0 {
			return a.listFigures(book, s, asJSON)
		}
		id, _ := figures.ByWord(args[0])
		r := engine.Evaluate(s)
		e, ok := book.Explain(figures.OfRank(&r, id))
		if lacks := figures.Lacking(s, id); !ok && lacks != "" {
			return &usageError{fmt.Sprintf("%s needs --%s", escape.Line(args[0]), lacks)}
		}
		if !ok && id == "memory.free" {
			return &usageError{"free is the usable memory less memory.peak, nothing more; 'meshscope explain peak' explains that"}
		}
		if !ok {
			return unknownFigure(book, args[0])
		}
		if asJSON {
			return a.writeJSON(struct {
				header
				Setup  engine.Setup `json:"setup"`
				Figure explained    `json:"explanation"`
			}{header{schemaVersion, version}, s, newExplained(e, depth)})
		}
		out := newPage(a.stdout)
		writeExplanation(out, e)
		writeParts(out, e, depth, "  ")
		return out.Flush()
	})
	return cmd
}

// noFigures answers for an illegal setup in a format, as eval does.
func (a *app) noFigures(s engine.Setup, format string, unsetBatch bool) error {
	r := engine.Evaluate(s)
	if err := a.printReport(format, &s, &r, unsetBatch); err != nil {
		return err
	}
	return verdict(&r)
}

func (a *app) listFigures(book *explain.Book, s engine.Setup, asJSON bool) error {
	all := book.Figures()
	if asJSON {
		return a.writeJSON(struct {
			header
			Setup   engine.Setup     `json:"setup"`
			Figures []figures.Figure `json:"figures"`
		}{header{schemaVersion, version}, s, all})
	}
	rows := [][]string{{"figure", "value", "what it is"}}
	for _, f := range all {
		if e, ok := book.Explain(f.ID); ok {
			rows = append(rows, []string{f.ID, e.Text(), e.Name})
		}
	}
	out := newPage(a.stdout)
	out.table(rows)
	return out.Flush()
}

func unknownFigure(book *explain.Book, typed string) error {
	message := fmt.Sprintf("unknown figure %s", escape.Quote(typed))
	if near := nearFigures(book, typed); len(near) > 0 {
		message += ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return &usageError{message + "; 'meshscope explain' lists them"}
}

// nearFigures are ids spelled like what was typed, else ids that contain it.
func nearFigures(book *explain.Book, typed string) []string {
	const keep = 3
	ids := book.IDs()
	if near := closest(typed, ids); len(near) > 0 {
		return near
	}
	word := strings.ToLower(typed)
	ends := slices.Clone(ids)
	ends = slices.DeleteFunc(ends, func(id string) bool {
		_, last, _ := strings.Cut(id, ".")
		return len(closest(word, []string{last})) == 0
	})
	if len(ends) == 0 && word != "" {
		ends = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.Contains(id, word) })
	}
	return ends[:min(keep, len(ends))]
}

func writeExplanation(out page, e *explain.Explanation) {
	out.printf("%s\n  %s\n\n", e.Figure, e.Name)
	rows := [][]string{
		{"  formula", e.Symbol + " = " + e.Formula},
		{"  numbers", "= " + e.Numbers},
		{"  result", "= " + e.Text()},
		{"  source", e.Source},
	}
	if e.Simulated {
		rows = append(rows, []string{"  how", "simulated: no formula gives it"})
	}
	if e.LeavesOut != "" {
		rows = append(rows, []string{"  leaves out", e.LeavesOut})
	}
	if e.Band != "" {
		rows = append(rows, []string{"  error band", e.Band})
	}
	out.table(rows)
}

// writeParts lists what an explanation is made of, indented by how deep it is.
func writeParts(out page, e *explain.Explanation, depth int, indent string) {
	if depth == 0 || len(e.Parts) == 0 {
		return
	}
	if indent == "  " {
		out.printf("\nmade of\n")
	}
	for _, p := range e.Parts {
		out.printf("%s%s = %s  (%s)\n", indent, p.Figure, p.Text(), p.Name)
		if depth > 1 {
			out.printf("%s  = %s\n%s  = %s\n", indent, p.Formula, indent, p.Numbers)
		}
		writeParts(out, p, depth-1, indent+"    ")
	}
}
