package cli

import (
	"fmt"
	"strconv"

	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
)

// onePreset prints one model, GPU or cluster: as a summary, as its file, or as JSON.
func (a *app) onePreset(kind, id string, asTOML, asJSON bool) error {
	if asTOML && asJSON {
		return &usageError{"--toml and --json contradict each other: give one of them"}
	}
	show, ok := map[string]func(string, bool) error{
		"models": a.oneModel, "gpus": a.oneGPU, "clusters": a.oneCluster,
	}[kind]
	if !ok {
		return &usageError{fmt.Sprintf("presets %s takes no id, given %s; models, gpus and clusters take one",
			escape.Line(kind), escape.Quote(id))}
	}
	if !asTOML {
		return show(id, asJSON)
	}
	file, err := a.lib.Text(kind, id)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(file)
	return err
}

// describe prints a preset: its id and name, then facts.
func (a *app) describe(id, name string, facts ...report.Fact) error {
	return a.print(textFormat, report.Blocks(id+"  "+name, report.Facts(facts)))
}

func (a *app) oneModel(id string, asJSON bool) error {
	p, err := a.lib.ModelPreset(id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeJSON(named{"model", modelEntry{p, p.Total(), p.Active(), p.MTP()}})
	}
	facts := []report.Fact{
		{Name: "parameters", Value: whole(p.Total())},
		{Name: "active", Value: whole(p.Active())},
	}
	if p.PublishedParameters > 0 {
		facts = append(facts, report.Fact{Name: "published", Value: whole(p.PublishedParameters)})
	}
	facts = append(
		facts,
		report.Fact{Name: "training", Value: fmt.Sprintf("%s FLOP per token at %s tokens, causal",
			figure.Short(float64(p.TrainingFLOPs(min(p.MaxSeq, 8192), true, false))),
			figure.Comma(min(p.MaxSeq, 8192)))},
		report.Fact{Name: "layers", Value: fmt.Sprintf("%d of hidden size %s", p.Layers,
			figure.Comma(p.Hidden))},
		report.Fact{
			Name: "attention",
			Value: fmt.Sprintf("%d heads of %d, %d for keys and values, bias %s, q/k norm %s", p.Heads,
				p.HeadDim, p.KVHeads, p.AttnBias, p.QKNorm),
		},
		report.Fact{Name: "MLP", Value: mlp(&p)},
		report.Fact{Name: "vocabulary", Value: fmt.Sprintf("%s, %s", figure.Comma(p.Vocab),
			map[bool]string{
				true:  "output head tied to the embedding",
				false: "separate output head",
			}[p.Tied])},
		report.Fact{Name: "positions", Value: fmt.Sprintf("%s, up to %s tokens", p.Positions(),
			figure.Comma(p.MaxSeq))},
		report.Fact{Name: "source", Value: p.Source},
	)
	return a.describe(p.ID, p.Name, facts...)
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
		text += fmt.Sprintf("%d experts %s wide, %d per token, ", p.Experts, figure.Comma(p.ExpertFFN),
			p.TopK)
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
	return a.describe(
		p.ID, p.Name,
		report.Fact{Name: "memory", Value: fmt.Sprintf("%.2f GiB usable, %.2f TB/s", p.MemoryUsable.GiB(),
			float64(p.MemoryBandwidth)/1e12)},
		report.Fact{Name: "peak", Value: fmt.Sprintf("bf16 %s, fp8 %s TFLOP/s", rate(float64(p.PeakBF16)),
			rate(float64(p.PeakFP8)))},
		report.Fact{Name: "links", Value: fmt.Sprintf("%.0f GB/s per direction, %d GPUs per node",
			float64(p.LinkBandwidth)/1e9, p.NodeGPUs)},
		report.Fact{Name: "source", Value: p.Source},
	)
}

func (a *app) oneCluster(id string, asJSON bool) error {
	p, err := a.lib.ClusterPreset(id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeJSON(named{"cluster", p})
	}
	return a.describe(
		p.ID, p.Name,
		report.Fact{Name: "GPU", Value: p.GPU.ID},
		report.Fact{
			Name:  "node",
			Value: strconv.Itoa(p.Node()) + " GPUs, " + strconv.Itoa(p.Domain()) + " in the fast domain",
		},
		report.Fact{Name: "inside", Value: fmt.Sprintf("%s, %.0f GB/s per GPU and direction", p.Intra.Name,
			float64(p.Intra.Bandwidth)/1e9)},
		report.Fact{Name: "outside", Value: fmt.Sprintf("%s, %.1f GB/s per GPU and direction", p.Inter.Name,
			float64(p.Inter.Bandwidth)/1e9)},
		report.Fact{Name: "source", Value: p.Source},
	)
}
