package starts_test

import (
	"context"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/ui/state"
)

// published is what a model has on 256 H100: batch, sequence and precision, typed from the recipe of the nearest number
// of GPUs, or the default where none is published.
type published struct {
	gbs, seq  int
	precision string
	source    string
}

// popular are models that people choose from a fresh start.
var popular = []struct {
	id string
	published
}{
	{"llama3.1-70b", published{512, 8192, "bf16", "DGX Cloud 25.04: Llama 3.1 70B on 256 H100"}},
	{"qwen3-235b-a22b", published{2048, 4096, "fp8", "Megatron-Bridge 25.09: Qwen3 235B on 256 H100"}},
	{"llama4-scout", published{1024, 8192, "bf16", "NeMo model_configs_h100.csv: Llama 4 Scout on 256 H100"}},
	{"llama3.1-8b", published{2048, 8192, "bf16", "DGX Cloud 25.04: Llama 3.1 8B on 128 H100, the largest run"}},
	{"llama3.1-405b", published{256, 8192, "bf16", "DGX Cloud 25.04: Llama 3.1 405B on 512 H100, the smallest run"}},
	{"deepseek-v3", published{512, 4096, "bf16", "NeMo Automodel performance summary: DeepSeek-V3 on 256 H100"}},
	{"kimi-k2", published{512, 4096, "bf16", "NeMo Automodel performance summary: Kimi K2 on 256 H100"}},
	{"mixtral-8x7b", published{256, 4096, "bf16", "NeMo model_configs_h100.csv: Mixtral 8x7B on 64 H100"}},
	{"mixtral-8x22b", published{256, 4096, "bf16", "zhebrak/llm-cluster-simulator BENCHMARKS.md: Mixtral 8x22B on 128 H100"}},
	{"qwen3-8b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"qwen3-14b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"qwen3-32b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"qwen3-30b-a3b", published{1024, 4096, "bf16", "Megatron-Bridge guide to experts: Qwen3 30B on 16 H100"}},
	{"gpt-oss-20b", published{1024, 4096, "bf16", "NeMo Automodel: gpt-oss-20b on 8 H100, whose 256 sequences are too few for 256 GPUs: 4 M tokens"}},
	{"gpt-oss-120b", published{1280, 4096, "bf16", "Megatron-Bridge 26.04.01: gpt-oss-120b on 64 H100"}},
	{"mistral-7b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"llama4-maverick", published{1024, 8192, "bf16", "NeMo model_configs_h100.csv: Llama 4 Maverick on 512 H100"}},
	{"llama3.2-1b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"gemma3-27b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"gemma2-9b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"olmo2-32b", published{1024, 4096, "bf16", "no published run: the default, 4 M tokens of the 4,096 that it knows, in bf16"}},
	{"glm-4.5-air", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"qwen2.5-72b", published{512, 8192, "bf16", "no published run: the default, 4 M tokens in bf16"}},
	{"gpt3-175b", published{2048, 2048, "fp8", "NeMo 24.07 performance summary: GPT-3 175B on 512 H100"}},
	{"nemotron4-340b", published{64, 4096, "bf16", "DGX Cloud 25.04: Nemotron4 340B on 256 H100"}},
}

// machines are what people choose with g.
var machines = []string{
	"dgx-h100", "dgx-a100", "gb200-nvl72", "dgx-h200", "dgx-b200", "aws-p5", "meta-roce-24k", "deepseek-h800",
	"azure-nd-mi300x", "aws-p4d", "gcp-a3-mega", "selene",
}

// again chooses another model or machine as the explorer does, and looks at what comes of it.
func again(t *testing.T, from *state.State, a state.Action) engine.Setup {
	t.Helper()
	draft, what := state.Again(from, a)
	q, err := search.Begin(draft, launch.Limit)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	best, chosen := q.Choose(context.Background(), 2)
	r := engine.Evaluate(best)
	if !r.Legal {
		t.Errorf("%s: not legal: %v", what, r.Problems)
		return best
	}
	p, err := q.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p.Top, p.Workers = 1, 2
	first := search.Run(context.Background(), p, nil)
	if p.Space.Accepts, p.Space.Refused = nil, true; !chosen.Found {
		if r := search.Run(context.Background(), p, nil); len(r.Best) > 0 {
			t.Errorf("%s: a layout fits, but none is chosen", what)
		}
		if chosen.Over <= 0 || chosen.Smallest > 0 && chosen.Smallest <= best.GPUs {
			t.Errorf("%s: over by %v, %d GPUs would do", what, chosen.Over, chosen.Smallest)
		}
		return best
	}
	if !r.Memory.Fits {
		t.Errorf("%s: does not fit", what)
	}
	const points = 0.03
	if len(first.Best) > 0 && r.Throughput.MFU < first.Best[0].Report.Throughput.MFU-points {
		t.Errorf("%s: MFU %.3f, the first of search has %.3f", what, r.Throughput.MFU, first.Best[0].Report.Throughput.MFU)
	}
	return best
}

// TestAnotherModel: from a fresh start m to each of 25 models on 3 machines is legal and fits wherever any layout
// does, near search's first, with the batch, the sequence and the precision of its recipe; an ordinary run
// takes a few.
func TestAnotherModel(t *testing.T) {
	lib, few := presets.Default(), 4
	if draws.Deep() {
		few = len(popular)
	}
	for i, machine := range machines[:3] {
		from := state.New(presets.StartSetup(), "", true)
		if machine != "dgx-h100" {
			c, err := lib.Cluster(machine)
			if err != nil {
				t.Fatal(err)
			}
			setup := again(t, &from, state.Action{Cluster: &c})
			from, _ = state.Apply(from, state.Action{Verb: state.UseSetup, Setup: &setup})
		}
		if i > 0 && !draws.Deep() {
			few = i + 1
		}
		step := i + 1 // all in a deep run on the first machine, others of them on the others
		for n := i; n < few; n += step {
			of := &popular[n]
			m, err := lib.Model(of.id)
			if err != nil {
				t.Fatal(err)
			}
			s := again(t, &from, state.Action{Model: &m})
			if s.GPUs != from.Setup.GPUs || s.Cluster != from.Setup.Cluster {
				t.Errorf("%s on %s: %d GPUs of %s", of.id, machine, s.GPUs, s.Cluster.ID)
			}
			if machine == "dgx-h100" && (s.GBS != of.gbs || s.Seq != of.seq || string(s.Precision) != of.precision) {
				t.Errorf("%s: %d x %d in %s, published is %+v", of.id, s.GBS, s.Seq, s.Precision, of.published)
			}
		}
	}
}

// TestAnotherMachine: from a fresh start g to each of 12 machines likewise, on as many GPUs.
func TestAnotherMachine(t *testing.T) {
	lib, few := presets.Default(), 3
	if draws.Deep() {
		few = len(machines)
	}
	for _, machine := range machines[1 : 1+min(few, len(machines)-1)] {
		from := state.New(presets.StartSetup(), "", true)
		c, err := lib.Cluster(machine)
		if err != nil {
			t.Fatal(err)
		}
		if s := again(t, &from, state.Action{Cluster: &c}); s.GPUs != from.Setup.GPUs && s.GPUs != c.MaxGPUs || s.Model != from.Setup.Model {
			t.Errorf("%s: %d GPUs, %s", machine, s.GPUs, s.Model.ID)
		}
	}
}

// TestOwnNodesStay: who has 48 GPUs is never offered more: a layout that does not divide them is mended instead.
func TestOwnNodesStay(t *testing.T) {
	from := state.New(presets.StartSetup(), "", true)
	for _, nodes := range []string{"6", "12", "3", "7", "11"} {
		s, _ := state.Apply(from, state.Action{Verb: state.SetKnob, ID: knob.Nodes, Text: nodes})
		owned := s.Setup.GPUs
		if engine.Legal(s.Setup) {
			continue
		}
		fixed, _ := state.Apply(s, state.Action{Verb: state.TakeFix})
		if !engine.Legal(fixed.Setup) || fixed.Setup.GPUs != owned {
			t.Errorf("%s nodes: the nearest has %d GPUs of %d, %s", nodes, fixed.Setup.GPUs, owned, state.FixWords(engine.Check(s.Setup)))
		}
	}
}
