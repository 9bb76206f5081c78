package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/presets/curves"
	"meshscope/presets/published"
	"meshscope/presets/steps"
	"meshscope/report"
)

func (a *app) validateCommand() *cobra.Command {
	asJSON, byRow, withCurves, records := false, false, false, ""
	cmd := &cobra.Command{
		Use:   "validate [group...]",
		Short: "Compare the model with published measurements",
		Long: "Compare the model with published measurements: step times of runs that no constant was " +
			"fitted to and of those that some were, nine accuracy figures, errors pooled over several " +
			"groups, those of every group of runs, and the published runs that are left out, with the " +
			"reason. " +
			"Groups that constants were fitted to are listed separately.\n\n" +
			"With --measured it reads records of whole training steps of PyTorch on one H100 instead, one " +
			"JSON object a line: sizes, way of training, bytes allocated and reserved, and the times of " +
			"forward, backward and optimizer. Each is mapped to a model and a way; one that cannot be " +
			"mapped is named with the reason.\n\n" +
			"Each row also shows the error of a single constant rate fitted to the same runs, and the best " +
			"published error of another tool, if there is one. \"left out\" is the error after all other " +
			"published runs on the same stack and generation of GPUs have set one factor; a dash: there " +
			"are none. \"refit\", of all groups, is the error after the fitted constants were fitted again " +
			"without the release or paper that the group is of; a dash: no other runs decide one of them.",
		Example: "meshscope validate\nmeshscope validate korthikanti-t5 --rows\nmeshscope validate " +
			"korthikanti-t5 --curves\nmeshscope validate --json\nmeshscope validate --measured steps.jsonl",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document with every run")
	cmd.Flags().BoolVar(&byRow, "rows", false, "list every run")
	cmd.Flags().StringVar(&records, "measured", "", "compare records of measured training steps in PyTorch "+
		"instead: a JSON-lines `FILE`, \"-\" for standard input")
	cmd.Flags().BoolVar(&withCurves, "curves", false,
		"compare the measured curves too: bandwidth over nodes, scaling of DP, ZeRO, TP and PP")
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("measured") {
			if len(args) > 0 || withCurves {
				return &usageError{"validate: --measured compares the records of a file: no groups and no " +
					"--curves with it"}
			}
			return a.validateSteps(records, asJSON)
		}
		v, err := a.validate(args)
		if err == nil && withCurves {
			v.Curves, err = curves.All(&engine.Evaluator{SkipTimeline: true}, a.lib)
		}
		switch {
		case err != nil:
			return err
		case asJSON:
			return a.writeJSON(v)
		}
		return a.print(textFormat,
			&report.Answer{Document: func() *report.Document { return v.Document(byRow) }})
	})
	return cmd
}

// validateSteps compares measured training steps.
func (a *app) validateSteps(name string, asJSON bool) error {
	in, err := a.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	v := report.StepValidation{SchemaVersion: report.SchemaVersion}
	var notes []string
	v.Rows, v.Unmapped, notes, err = steps.Compare(in)
	if err != nil {
		return fileError(name, err)
	}
	if len(v.Rows)+len(v.Unmapped) == 0 {
		notes = append(notes, name+" has no records")
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(a.stderr, escape.Line(note)); err != nil {
			return err
		}
	}
	if asJSON {
		return a.writeJSON(&v)
	}
	return a.print(textFormat, &report.Answer{Document: v.Document})
}

// validate compares the named groups, or all.
func (a *app) validate(names []string) (*report.Validation, error) {
	groups, err := published.Groups(a.lib)
	if err != nil {
		return nil, err
	}
	var known []string
	for i := range groups {
		known = append(known, groups[i].ID)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil,
				&usageError{fmt.Sprintf("validate: unknown group %s, allowed is one of %s",
					escape.Quote(name), strings.Join(known, ", "))}
		}
	}
	v := &report.Validation{
		Header: report.NewHeader(version), Spreads: []published.Spread{},
		Figures: []published.Figure{}, Pooled: []published.Figure{}, Groups: []published.Result{},
		Rows: []published.Row{}, Bands: []published.Class{}, Fits: []report.CalibrationError{},
	}
	e := engine.Evaluator{SkipTimeline: true}
	refit := published.NewRefit(&e, groups)
	if len(names) == 0 {
		if v.Figures, err = published.Figures(&e, a.lib, groups, refit); err != nil {
			return nil, err
		}
		v.Pooled = published.Pools(&e, groups, refit)
		scales, err := presets.Distances()
		if err != nil {
			return nil, err
		}
		v.Bands = published.Coverages(scales, groups)
		v.Fits = report.CalibrationErrors(a.lib.Calibrations())
	}
	wanted := slices.DeleteFunc(groups,
		func(g published.Group) bool { return len(names) > 0 && !slices.Contains(names, g.ID) })
	for i := range wanted {
		results, rows := published.Compare(&e, &wanted[i])
		v.Groups, v.Rows = append(v.Groups, results...), append(v.Rows, rows...)
	}
	refit.Fill(v.Groups, v.Rows)
	if len(names) == 0 {
		refits := published.NewRefits(&e, groups)
		refits.Fill(v.Groups, v.Rows)
		v.Spreads = published.Spreads(groups, v.Rows, refits)
	}
	v.Intervals = append([]published.Interval{}, published.Intervals(&e, wanted)...)
	v.LeftOut = append([]published.Omission{}, published.Omissions(wanted)...)
	return v, nil
}
