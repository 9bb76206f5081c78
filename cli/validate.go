package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/presets/published"
	"meshscope/report"
)

// validation is the JSON document of validate.
type validation struct {
	report.Header
	Figures []published.Figure `json:"figures"` // of all groups; none if some were named
	Groups  []published.Result `json:"groups"`
	Rows    []published.Row    `json:"rows"`
}

func (a *app) validateCommand() *cobra.Command {
	asJSON, byRow := false, false
	cmd := &cobra.Command{
		Use:   "validate [group...]",
		Short: "Compare the model with published measurements",
		Long: "Compare the model with published measurements: nine accuracy figures, then the errors of every group of runs. " +
			"Groups that constants were fitted to are listed separately.\n\n" +
			"Each row also shows the error of a single constant rate fitted to the same runs, and the best published error of another tool, if there is one.",
		Example: "meshscope validate\nmeshscope validate korthikanti-t5 --rows\nmeshscope validate --json",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document with every run")
	cmd.Flags().BoolVar(&byRow, "rows", false, "list every run")
	cmd.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
		v, err := a.validate(args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return a.writeJSON(v)
		}
		return a.printValidation(v, byRow)
	})
	return cmd
}

// validate compares the named groups, or all.
func (a *app) validate(names []string) (validation, error) {
	groups, err := published.Groups(a.lib)
	if err != nil {
		return validation{}, err
	}
	var known []string
	for i := range groups {
		known = append(known, groups[i].ID)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return validation{}, &usageError{fmt.Sprintf("validate: unknown group %s, allowed is one of %s", escape.Quote(name), strings.Join(known, ", "))}
		}
	}
	v := validation{Header: report.NewHeader(version), Figures: []published.Figure{}, Groups: []published.Result{}, Rows: []published.Row{}}
	e := engine.Evaluator{SkipTimeline: true}
	if len(names) == 0 {
		if v.Figures, err = published.Figures(&e, a.lib, groups); err != nil {
			return validation{}, err
		}
	}
	for i := range groups {
		if len(names) == 0 || slices.Contains(names, groups[i].ID) {
			results, rows := published.Compare(&e, &groups[i])
			v.Groups, v.Rows = append(v.Groups, results...), append(v.Rows, rows...)
		}
	}
	return v, nil
}

// printFigures prints the nine accuracy figures.
func (a *app) printFigures(figures []published.Figure) error {
	if len(figures) == 0 {
		return nil
	}
	rows := make([][]any, len(figures))
	for i := range figures {
		f := &figures[i]
		write := func(v float64) string {
			if f.Unit == "" {
				return fmt.Sprintf("%.3f", v)
			}
			return fmt.Sprintf("%.1f %%", 100*v)
		}
		wanted, constant, peer := "<= "+write(f.Wanted), "-", "-"
		if f.AtLeast {
			wanted = ">= " + write(f.Wanted)
		}
		if !f.Met() {
			wanted += " MISSED"
		}
		if f.Constant != nil {
			constant = write(*f.Constant)
		}
		if f.PeerAt != nil {
			peer = write(*f.PeerAt) + " " + f.Peer
		}
		rows[i] = []any{f.Number, f.Name, f.Measure, f.Rows, write(f.Value), wanted, constant, peer}
	}
	if _, err := fmt.Fprintln(a.stdout, "FIGURES: meshscope, a single constant fitted to the same runs, the best other tool"); err != nil {
		return err
	}
	if err := a.wholeTable([]any{"", "runs", "measure", "rows", "model", "target", "constant", "other tool"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout)
	return err
}

func (a *app) printValidation(v validation, byRow bool) error {
	if err := a.printFigures(v.Figures); err != nil {
		return err
	}
	for _, fitted := range []bool{true, false} {
		var rows [][]any
		for _, r := range v.Groups {
			if r.Fitted == fitted {
				rows = append(rows, resultRow(r))
			}
		}
		if len(rows) == 0 {
			continue
		}
		heading := "NOT FITTED: no constant was fitted to these runs"
		if fitted {
			heading = "FITTED: some constants were fitted to these runs (see presets/calibrations)"
		}
		if _, err := fmt.Fprintln(a.stdout, heading); err != nil {
			return err
		}
		if err := a.wholeTable([]any{"group", "metric", "rows", "mean", "median", "max", "constant", "other tool"}, rows); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.stdout); err != nil {
			return err
		}
	}
	if !byRow {
		return nil
	}
	rows := make([][]any, len(v.Rows))
	for i, r := range v.Rows {
		rows[i] = []any{r.Group, r.ID, r.Metric, fmt.Sprintf("%.4g", r.Measured), fmt.Sprintf("%.4g", r.Predicted), fmt.Sprintf("%+.1f %%", 100*r.Error)}
	}
	return a.wholeTable([]any{"group", "run", "metric", "measured", "predicted", "error"}, rows)
}

func resultRow(r published.Result) []any {
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	constant, peer := "-", "-"
	if r.Constant > 0 {
		constant = share(r.Constant)
	}
	if r.Peer != "" {
		peer = share(r.PeerMean) + " " + r.Peer
	}
	metric := "time"
	if r.Metric == published.MemoryGiB {
		metric = "memory"
	}
	return []any{r.Name, metric, r.Rows, share(r.Mean), share(r.Median), share(r.Max), constant, peer}
}
