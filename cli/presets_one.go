package cli

import (
	"fmt"
	"strconv"

	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/report/figure"
)

// onePreset prints one model, GPU or cluster: as a summary, as its file, or as JSON.
func (a *app) onePreset(kind, id string, asTOML, asJSON bool) error {
	if asTOML && asJSON {
		return &usageError{"--toml and --json contradict each other: give one of them"}
	}
	var (
		text func(string) ([]byte, error)
		show func(string, bool) error
	)
	switch kind {
	case "models":
		text, show = a.lib.ModelText, a.oneModel
	case "gpus":
		text, show = a.lib.GPUText, a.oneGPU
	case "clusters":
		text, show = a.lib.ClusterText, a.oneCluster
	default:
		return &usageError{fmt.Sprintf("presets %s takes no id, given %s; models, gpus and clusters take one", escape.Line(kind), escape.Quote(id))}
	}
	if !asTOML {
		return show(id, asJSON)
	}
	file, err := text(id)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(file)
	return err
}

// describe prints names with their values.
func (a *app) describe(rows [][]string) error {
	out := newPage(a.stdout)
	out.table(rows)
	return out.Flush()
}

func (a *app) oneModel(id string, asJSON bool) error {
	p, err := a.lib.ModelPreset(id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeJSON(named{"model", modelEntry{p, p.Total(), p.Active(), p.MTP()}})
	}
	rows := [][]string{
		{p.ID, p.Name},
		{"parameters", whole(p.Total())},
		{"active", whole(p.Active())},
	}
	if p.PublishedParameters > 0 {
		rows = append(rows, []string{"published", whole(p.PublishedParameters)})
	}
	rows = append(
		rows,
		[]string{"training", fmt.Sprintf("%s FLOP per token at %s tokens, causal", figure.Short(float64(p.TrainingFLOPs(min(p.MaxSeq, 8192), true, false))), figure.Comma(min(p.MaxSeq, 8192)))},
		[]string{"layers", fmt.Sprintf("%d of hidden size %s", p.Layers, figure.Comma(p.Hidden))},
		[]string{"attention", fmt.Sprintf("%d heads of %d, %d for keys and values, bias %s, q/k norm %s", p.Heads, p.HeadDim, p.KVHeads, p.AttnBias, p.QKNorm)},
		[]string{"MLP", mlp(&p)},
		[]string{"vocabulary", fmt.Sprintf("%s, %s", figure.Comma(p.Vocab), map[bool]string{true: "output head tied to the embedding", false: "separate output head"}[p.Tied])},
		[]string{"positions", fmt.Sprintf("%s, up to %s tokens", p.Position, figure.Comma(p.MaxSeq))},
		[]string{"source", p.Source},
	)
	return a.describe(rows)
}

// mlp describes the width of the MLP and its number of matrices.
func mlp(p *presets.ModelPreset) string {
	matrices := "2 matrices"
	if p.Gated {
		matrices = "3 matrices"
	}
	text := ""
	if p.FFN > 0 {
		text = figure.Comma(p.FFN) + " wide, "
	}
	if p.IsMoE() {
		text += fmt.Sprintf("%d experts %s wide, %d per token, ", p.Experts, figure.Comma(p.ExpertFFN), p.TopK)
	}
	return text + matrices + ", " + p.Activation
}

// whole writes a count rounded, with all digits in parentheses.
func whole(n int64) string {
	return figure.Short(float64(n)) + " (" + figure.Comma(int(n)) + ")"
}

func (a *app) oneGPU(id string, asJSON bool) error {
	p, err := a.lib.GPUPreset(id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeJSON(named{"gpu", p})
	}
	return a.describe([][]string{
		{p.ID, p.Name},
		{"memory", fmt.Sprintf("%.2f GiB usable, %.2f TB/s", p.MemoryUsable.GiB(), float64(p.MemoryBandwidth)/1e12)},
		{"peak", fmt.Sprintf("bf16 %s, fp8 %s TFLOP/s", rate(float64(p.PeakBF16)), rate(float64(p.PeakFP8)))},
		{"links", fmt.Sprintf("%.0f GB/s per direction, %d GPUs per node", float64(p.LinkBandwidth)/1e9, p.NodeGPUs)},
		{"source", p.Source},
	})
}

func (a *app) oneCluster(id string, asJSON bool) error {
	p, err := a.lib.ClusterPreset(id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeJSON(named{"cluster", p})
	}
	return a.describe([][]string{
		{p.ID, p.Name},
		{"GPU", p.GPU.ID},
		{"node", strconv.Itoa(p.Node()) + " GPUs, " + strconv.Itoa(p.Domain()) + " in the fast domain"},
		{"inside", fmt.Sprintf("%s, %.0f GB/s per GPU and direction", p.Intra.Name, float64(p.Intra.Bandwidth)/1e9)},
		{"outside", fmt.Sprintf("%s, %.1f GB/s per GPU and direction", p.Inter.Name, float64(p.Inter.Bandwidth)/1e9)},
		{"source", p.Source},
	})
}
