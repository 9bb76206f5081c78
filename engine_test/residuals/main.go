// Command residuals prints how far the model is from every published run, with the
// parts of the predicted step, as CSV. Constants of the calibration can be changed
// without building anew:
//
//	go run ./engine_test/residuals > rows.csv
//	go run ./engine_test/residuals -group mlperf,dgxc -set dp_exposed=0.3 -set gather_exposed=0.3
//	go run ./engine_test/residuals -fits
//	go run ./engine_test/residuals -summary \
//	  -set 'megatron-core,b200-sxm,dense:gemm_fp8_efficiency=0.5,0.53,0.56'
//
// The key of -set is that of a calibration file (presets/calibrations). Words before a
// colon choose runs: a GPU, a cluster, a stack, a group or the beginning of its name,
// dense or experts, 16bit or 8bit; all of them must hold. Several values, with -summary,
// give a block of lines each.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"strings"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "residuals:", err)
		os.Exit(1)
	}
}

// changes are the values of -set.
type changes []change

func (c *changes) String() string { return fmt.Sprint(*c) }

// Set reads one -set.
func (c *changes) Set(text string) error {
	one, err := parseChange(text)
	if err == nil {
		*c = append(*c, one)
	}
	return err
}

func run(args []string) error {
	var set changes
	flags := flag.NewFlagSet("residuals", flag.ContinueOnError)
	only := flags.String("group", "", "groups, or beginnings of their names, with commas between them")
	summary := flags.Bool("summary", false,
		"a line per group, and one per kind of runs, in place of the runs")
	sweep := flags.Bool("sweep", false, "with the playbook's sweep, which is most of all runs")
	fits := flags.Bool("fits", false,
		"what is said of the memory of runs that ran and of runs that were out of memory, by group")
	flags.Var(&set, "set", "a change of a constant, [runs:]key=value[,value]; may be given several times")
	if err := flags.Parse(args); err != nil {
		return err
	}
	groups, err := published.Groups(presets.Default())
	if err != nil {
		return err
	}
	out := csv.NewWriter(os.Stdout)
	defer out.Flush()
	if *fits {
		return writeFits(out, groups, *only)
	}
	var rows []row
	for i := range groups {
		g := &groups[i]
		if (g.ID != "playbook-sweep" || *sweep) && named(g.ID, *only) {
			for k := range g.Runs {
				rows = append(rows, row{group: g, run: &g.Runs[k]})
			}
		}
	}
	e := engine.Evaluator{SkipTimeline: true}
	for n, variant := range set.variants() {
		for i := range rows {
			if err := rows[i].evaluate(&e, variant); err != nil {
				return fmt.Errorf("%s: %w", rows[i].run.ID, err)
			}
		}
		if *summary {
			err = writeSummary(out, n == 0, rows, variant)
		} else {
			err = writeRows(out, n == 0, rows, variant)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// named reports whether a group is one of a list of beginnings; an empty list has all.
func named(id, list string) bool {
	for word := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(id, word) {
			return true
		}
	}
	return false
}
