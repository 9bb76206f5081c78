package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
)

// presetKinds returns the kinds that can be listed.
func presetKinds() []string { return []string{"models", "gpus", "clusters", "calibrations", "runs"} }

func (a *app) presetsCommand() *cobra.Command {
	asJSON, asTOML := false, false
	cmd := &cobra.Command{
		Use:   "presets KIND [ID]",
		Short: "List models, GPUs, clusters, calibrations and published runs",
		Long: "List the built-in presets and your own. KIND is one of models, gpus, clusters, " +
			"calibrations, runs. " +
			"Calibrations are the fitted speeds of GPUs, networks and software stacks, with the " +
			"measurements they were fitted to.\n\n" +
			"With the ID of a model, GPU or cluster, show that preset. --toml prints its file, a template " +
			"for your own in " +
			"~/.config/meshscope/presets/KIND/ID.toml. The ID of a model may also be a file, such as a " +
			"config.json.",
		Example: "meshscope presets models\nmeshscope presets gpus --json\nmeshscope presets models " +
			"llama3.2-3b --toml",
		ValidArgs: presetKinds(),
		Args:      cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document with every figure and its source")
	cmd.Flags().BoolVar(&asTOML, "toml", false, "print the preset file of the ID")
	cmd.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return &usageError{fmt.Sprintf("presets takes a kind and at most one id, given %d arguments; "+
				"the kind is one of %s", len(args), strings.Join(presetKinds(), ", "))}
		}
		if len(args) == 2 {
			return a.onePreset(args[0], args[1], asTOML, asJSON)
		}
		if asTOML {
			return &usageError{"--toml needs an id: presets " + escape.Line(args[0]) + " ID --toml"}
		}
		switch args[0] {
		case "models":
			return a.models(asJSON)
		case "gpus":
			return a.gpus(asJSON)
		case "clusters":
			return a.clusters(asJSON)
		case "calibrations":
			return a.calibrations(asJSON)
		case "runs":
			return a.runs(asJSON)
		}
		return oneOf("presets", args[0], presetKinds())
	})
	return cmd
}

// ids returns the ids of one kind, for shell completion.
func (a *app) ids(kind string) []string {
	var ids []string
	switch kind {
	case "models":
		for _, p := range a.lib.Models() {
			ids = append(ids, p.ID)
		}
	case "gpus":
		for _, p := range a.lib.GPUs() {
			ids = append(ids, p.ID)
		}
	case "clusters":
		for _, p := range a.lib.Clusters() {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// named is a JSON document of a header and one value under a key.
type named struct {
	key   string
	value any
}

// MarshalJSON writes the header, then the value.
func (n named) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"schema_version":%d,"version":%q,%q:`, report.SchemaVersion, version, n.key)
	err := report.WriteJSON(&out, n.value)
	out.WriteByte('}')
	return out.Bytes(), err
}

// list prints presets of a kind: as a JSON document, or as a table with a row of each.
func list[T any](a *app, kind string, all []T, asJSON bool, head []string, row func(*T) []any) error {
	if asJSON {
		return a.writeJSON(named{kind, all})
	}
	t := &report.Table{Head: head, Width: a.width(presetWidth)}
	for i := range all {
		t.Rows = append(t.Rows, report.Cells(row(&all[i])...))
	}
	return a.print(textFormat, report.Blocks("", t))
}

// modelEntry is a model with its parameter counts.
type modelEntry struct {
	presets.ModelPreset
	Parameters       int64 `json:"parameters"`
	ActiveParameters int64 `json:"active_parameters"`
	MTPParameters    int64 `json:"mtp_parameters"`
}

func (a *app) models(asJSON bool) error {
	var entries []modelEntry
	for _, p := range a.lib.Models() {
		entries = append(entries, modelEntry{p, p.Total(), p.Active(), p.MTP()})
	}
	return list(a, "models", entries, asJSON, []string{
		"id", "name", "parameters", "active", "layers",
		"hidden", "heads", "experts", "seq",
	}, func(e *modelEntry) []any {
		return []any{
			e.ID, e.Name, figure.FineCount(float64(e.Parameters)),
			figure.FineCount(float64(e.ActiveParameters)), e.Layers, e.Hidden, e.Heads, e.Experts, e.MaxSeq,
		}
	})
}

func (a *app) gpus(asJSON bool) error {
	return list(a, "gpus", a.lib.GPUs(), asJSON,
		[]string{"id", "name", "usable GiB", "HBM TB/s", "bf16 TFLOP/s", "fp8", "link GB/s", "per node"},
		func(g *presets.GPUPreset) []any {
			return []any{
				g.ID, g.Name, fmt.Sprintf("%.2f", g.MemoryUsable.GiB()),
				fmt.Sprintf("%.2f", float64(g.MemoryBandwidth)/1e12),
				rate(float64(g.PeakBF16)), rate(float64(g.PeakFP8)),
				fmt.Sprintf("%.0f", float64(g.LinkBandwidth)/1e9), g.NodeGPUs,
			}
		})
}

func (a *app) clusters(asJSON bool) error {
	return list(a, "clusters", a.lib.Clusters(), asJSON, []string{
		"id", "name", "GPU", "per node", "domain",
		"in GB/s", "out GB/s",
	}, func(c *presets.ClusterPreset) []any {
		return []any{
			c.ID, c.Name, c.GPU.ID, c.Node(), c.Domain(),
			fmt.Sprintf("%.0f", float64(c.Intra.Bandwidth)/1e9),
			fmt.Sprintf("%.1f", float64(c.Inter.Bandwidth)/1e9),
		}
	})
}

// rate writes a peak in TFLOP/s; a dash if there is none.
func rate(flops float64) string {
	if flops <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", flops/1e12)
}

// presetWidth is the width of a list in a pipe or a file.
const presetWidth = 100
