package published_test

import (
	"fmt"
	"math"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
	"meshscope/presets"
	"meshscope/presets/published"
)

// bandFile writes the two tables as presets/bands.csv has them.
func bandFile(scales *hardware.Published, groups []published.Group) string {
	times, memory := published.RunErrors(groups)
	var b strings.Builder
	b.WriteString("# Errors of the model on the runs of presets/published, in cells of runs that are " +
		"alike: see\n" +
		"# package engine/band. Counts are binary logarithms; error is the mean of |ln(predicted / " +
		"measured)|\n" +
		"# over rho, off the mean of predicted over measured or measured over predicted, less 1.\n" +
		"# Written by the test of presets/published; never by hand. The columns of the cells:\n# " +
		presets.Columns + "\n")
	for i := range groups {
		if g := &groups[i]; !g.Repeats {
			fmt.Fprintf(&b, "title,%s,%s\n", g.ID, g.Title)
		}
	}
	for _, of := range []struct {
		name string
		from *band.Table
		runs []published.Errors
	}{{"time", &scales.Time, times}, {"memory", &scales.Memory, memory}} {
		t, publishers := published.Table(of.from, of.runs)
		fmt.Fprintf(&b, "# factor, and least and most GPUs, sequence, active parameters and micro-batch "+
			"size of the runs\n%s,%s", of.name, decimal(t.Factor))
		for _, r := range []band.Range{t.GPUs, t.Seq, t.Active, t.MBS} {
			fmt.Fprintf(&b, ",%s,%s", decimal(float64(r.Least)), decimal(float64(r.Most)))
		}
		b.WriteString("\n")
		for _, c := range t.Classes {
			fmt.Fprintf(&b, "factor,%t,%s,%s,%s\n", c.Experts, c.Generation, c.Stack, decimal(c.Factor))
		}
		for i := range t.Cells {
			b.WriteString(cellLine(&t.Cells[i], publishers) + "\n")
		}
	}
	return b.String()
}

// cellLine writes a cell as a line of the file: see presets.Columns.
func cellLine(c *band.Cell, publishers []string) string {
	log := func(v band.Log) float64 { return three(float64(v)) }
	var out []string
	for _, v := range []any{
		c.Group, c.Release, publishers[c.Source], c.Example, c.GPU, c.Vendor, c.Generation, c.Stack, c.Family,
		c.Version,
		c.Experts, int(c.TP), int(c.CP), int(c.EP), c.Pipeline, c.ZeRO3, c.PCIe, c.Recompute, c.Bits,
		log(c.GPUs), log(c.MicroBatches), log(c.Active), log(c.Seq), log(c.MBS), three(c.NonCompute),
		three(c.Traffic),
		c.Runs, three(c.Weight), three(c.Error), three(c.Off), c.Fitted,
	} {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ",")
}

// decimal writes a number with three decimals.
func decimal(v float64) string { return fmt.Sprintf("%.3f", v) }

// three rounds to three decimals.
func three(v float64) float64 { return math.Round(1000*v) / 1000 }

// coverageTable writes the classes as the Markdown table of docs/accuracy.md.
func coverageTable(classes []published.Class) string {
	var b strings.Builder
	b.WriteString("| kind | generation | stack | runs | releases | inside | width | width in use |\n| --- " +
		"| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %.0f %% | ±%.0f %% | ±%.0f %% |\n", c.ClassName(),
			c.Generation, c.Stack, c.Runs, c.Releases, 100*c.Inside, 100*c.Width, 100*c.InUse)
	}
	return b.String()
}
