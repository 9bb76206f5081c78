package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/words"
)

// claim is something that the note on a knob says, with what the engine must
// show for it to be true. The words tie the two together: whoever rewrites the
// note meets the claim.
type claim struct {
	knob  knob.ID
	words string // in the note
	on    string // the setup, as flags
	from  string // values of the knob
	to    string
	holds func(a, b *engine.Report) bool
}

func bytesOf(r *engine.Report, dimension string) units.Bytes {
	for _, c := range r.Communication {
		if c.Dimension == dimension {
			return c.Bytes
		}
	}
	return 0
}

func secondsOf(r *engine.Report, dimension string) units.Seconds {
	for _, c := range r.Communication {
		if c.Dimension == dimension {
			return c.Seconds
		}
	}
	return 0
}

func dpBytes(r *engine.Report) float64 { return float64(bytesOf(r, "dp")) }

// times says that b is that many times a, to a share.
func times(a, b, factor, within float64) bool {
	return a > 0 && b > factor*a*(1-within) && b < factor*a*(1+within)
}

func last(r *engine.Report) int { return len(r.Memory.Ranks) - 1 }

const (
	eight  = "llama3.1-8b dgx-h100 gpus=8 tp=1"                     // m is 4
	large  = "llama3.1-70b dgx-h100 gpus=64 tp=8 pp=2 gbs=512"      // the start of the program
	moe    = "deepseek-v3 dgx-h100 gpus=256 tp=2 pp=16 ep=8"        //
	single = "llama3.1-8b dgx-h100 gpus=8 tp=1 microbatches=1 pp=1" // no accumulation
	deep   = "gpt3-175b dgx-a100 gpus=128 tp=8 pp=8 gbs=64 zero=1 attention=standard mbs=1"
)

func claims() []claim {
	type r = *engine.Report
	return []claim{
		{"nodes", "With ZeRO also the optimizer state", large, "8", "16", func(a, b r) bool {
			return b.Memory.Ranks[0].Optimizer < a.Memory.Ranks[0].Optimizer && b.Time.Step < a.Time.Step
		}},
		{
			"dp", "cuts no memory", eight + " zero=0", "4", "8",
			func(a, b r) bool { return b.Memory.Peak >= a.Memory.Peak && b.Time.Step < a.Time.Step },
		},
		{
			"dp", "one per step up to ZeRO-1", eight + " zero=1 microbatches=4", "4", "8",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), (7.0/8)/(3.0/4), 1e-6) },
		},
		{"tp", "Weights, gradients, optimizer state", large, "4", "8", func(a, b r) bool {
			x, y := a.Memory.Ranks[0], b.Memory.Ranks[0]
			return times(float64(x.Weights), float64(y.Weights), 0.5, 0.01) &&
				times(float64(x.Gradients), float64(y.Gradients), 0.5, 0.01) &&
				times(float64(x.Activations), float64(y.Activations), 0.5, 0.1)
		}},
		{"tp", "most of that is exposed", large, "1", "8", func(_, b r) bool {
			for _, c := range b.Communication {
				if c.Dimension == "tp" {
					return c.Exposed > c.Seconds/4
				}
			}
			return false
		}},
		{"pp", "Weights, gradients and optimizer state by PP", large, "2", "4", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Weights), float64(b.Memory.Ranks[0].Weights), 0.5, 0.06)
		}},
		{"pp", "activation memory hardly shrinks", large, "2", "4", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Activations), float64(b.Memory.Ranks[0].Activations), 1,
				0.06)
		}},
		{"vpp", "The bubble, by this number", large + " gbs=64 zero=1", "1", "2", func(a, b r) bool {
			return times(a.Pipeline.BubbleOverIdeal, b.Pipeline.BubbleOverIdeal, 0.5, 0.25)
		}},
		{"vpp", "As many times the send/recv traffic", large + " pp=4", "1", "2", func(a, b r) bool {
			return times(float64(bytesOf(a, "pp")), float64(bytesOf(b, "pp")), 2, 0.5) &&
				b.Memory.Ranks[0].Activations > a.Memory.Ranks[0].Activations
		}},
		{"cp", "Activations of every layer by CP", large, "1", "2", func(a, b r) bool {
			x, y := a.Memory.Ranks[0], b.Memory.Ranks[0]
			return times(float64(x.Activations), float64(y.Activations), 0.5, 0.1) &&
				y.Weights == x.Weights && times(float64(x.Optimizer), float64(y.Optimizer), 1, 1e-6)
		}},
		{"ep", "of the routed experts by EP", moe, "4", "8", func(a, b r) bool {
			return b.Memory.Ranks[1].Weights < a.Memory.Ranks[1].Weights &&
				b.Memory.Ranks[1].Activations == a.Memory.Ranks[1].Activations &&
				bytesOf(b, "ep") > bytesOf(a, "ep")
		}},
		{
			"etp", "The matrices of each expert", moe + " ep=4", "1", "2",
			func(a, b r) bool { return b.Memory.Ranks[1].Weights < a.Memory.Ranks[1].Weights },
		},
		{"zero", "Stage 1 shards the optimizer state", eight, "0", "1", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Optimizer), float64(b.Memory.Ranks[0].Optimizer), 1.0/8,
				1e-6) && a.Memory.Ranks[0].Activations == b.Memory.Ranks[0].Activations
		}},
		{
			"zero", "no more than plain DP, less where weights are narrower", eight, "0", "1",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), (4.0+2)/(2*4), 1e-6) },
		},
		{
			"zero", "no more than plain DP", eight + " grad-dtype=bf16", "0", "1",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 1, 1e-6) },
		},
		{
			"zero", "m times as often", eight, "1", "2",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), (4.0*4+2)/(4+2), 1e-6) },
		},
		{
			"zero", "With one micro-batch 2 moves what 1 does", single, "1", "2",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 1, 1e-6) },
		},
		{
			"zero", "3 also gathers the weights in each forward and each backward", eight, "2", "3",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 4*(4.0+2+2)/(4*4+2), 1e-6) },
		},
		{
			"zero", "torchtitan with a pipeline keeps",
			"llama3.1-8b dgx-h100 gpus=16 tp=1 pp=2 calibration=torchtitan microbatches=8", "1", "3",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 1, 1e-6) },
		},
		{"sp", "a quarter more traffic", large, "off", "on", func(a, b r) bool {
			return times(float64(bytesOf(a, "tp")), float64(bytesOf(b, "tp")), 1.25, 0.01) &&
				b.Memory.Ranks[0].Activations < a.Memory.Ranks[0].Activations
		}},
		{
			"hsdp", "the sharded state is divided by fewer", "llama3.1-8b dgx-h100 gpus=64 tp=1 zero=3", "1",
			"8", func(a, b r) bool {
				return times(float64(a.Memory.Ranks[0].Optimizer), float64(b.Memory.Ranks[0].Optimizer), 8,
					1e-6) && secondsOf(b, "dp") < secondsOf(a, "dp")
			},
		},
		{"mbs", "Activations, in proportion", large, "1", "2", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Activations), float64(b.Memory.Ranks[0].Activations), 2,
				1e-6) && b.Pipeline.BubbleOverIdeal > a.Pipeline.BubbleOverIdeal &&
				b.Time.Compute < a.Time.Compute
		}},
		{
			"microbatches", "up to ZeRO-1, that of the gradient all-reduce", large + " gbs=64", "16", "32",
			func(a, b r) bool {
				return times(dpBytes(a), dpBytes(b), 1, 1e-6) &&
					times(a.Pipeline.BubbleOverIdeal, b.Pipeline.BubbleOverIdeal, 0.5, 0.05)
			},
		},
		{
			"microbatches", "ZeRO-2 and 3 communicate for every micro-batch", eight + " zero=3", "4", "8",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 2, 1e-6) },
		},
		{
			"microbatches", "Gradients stay in memory", eight + " zero=0", "1", "4",
			func(a, b r) bool { return a.Memory.Ranks[0].Gradients == b.Memory.Ranks[0].Gradients },
		},
		{
			"gbs", "up to ZeRO-1, fewer gradient all-reduces", eight + " zero=1", "32", "64",
			func(a, b r) bool { return times(dpBytes(a), dpBytes(b), 1, 1e-6) },
		},
		{"seq", "Activations in proportion", large, "4096", "8192", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Activations), float64(b.Memory.Ranks[0].Activations), 2,
				1e-6) && b.Time.Compute > 2*a.Time.Compute
		}},
		{
			"seq", "memory grows with the square", deep, "1024", "2048",
			func(a, b r) bool { return b.Memory.Ranks[0].Activations > 2.5*a.Memory.Ranks[0].Activations },
		},
		{
			"schedule", "1F1B p of them with the same bubble", large + " gbs=64", "afab", "1f1b",
			func(a, b r) bool {
				return b.Memory.Ranks[0].InFlight == 2 && a.Memory.Ranks[0].InFlight == 16 &&
					times(a.Pipeline.BubbleOverIdeal, b.Pipeline.BubbleOverIdeal, 1, 0.05)
			},
		},
		{
			"recompute", "full keeps only each layer's input", large, "none", "full",
			func(a, b r) bool { return b.Memory.Ranks[0].Activations < a.Memory.Ranks[0].Activations/8 },
		},
		{"recompute", "30 to 40 % more time", large, "none", "full", func(a, b r) bool {
			return times(float64(a.Time.Step), float64(b.Time.Step), 1.33, 0.06) &&
				b.Throughput.MFU < a.Throughput.MFU && times(a.Throughput.HFU, b.Throughput.HFU, 1, 0.06)
		}},
		{
			"recompute", "nothing with flash attention", large, "none", "selective",
			func(a, b r) bool { return b.Time.Step == a.Time.Step },
		},
		{
			"recompute", "in torchtitan every second product",
			"llama3.1-8b dgx-h100 gpus=8 tp=1 calibration=torchtitan", "none", "selective",
			func(a, b r) bool { return b.Time.Recompute > 0 && b.Memory.Peak < a.Memory.Peak },
		},
		{
			"recompute", "Selective about 3 % for a GPT-3", deep, "none", "selective",
			func(a, b r) bool { return times(float64(a.Time.Step), float64(b.Time.Step), 1.03, 0.03) },
		},
		{"precision", "16 bits halve the one", large, "fp32", "bf16", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Activations), float64(b.Memory.Ranks[0].Activations), 0.5,
				0.05) && b.Time.Compute < 0.7*a.Time.Compute
		}},
		{"grad-dtype", "2 bytes per parameter in place of 4", large, "fp32", "bf16", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[0].Gradients), float64(b.Memory.Ranks[0].Gradients), 0.5,
				1e-6) && dpBytes(b) < dpBytes(a)
		}},
		{
			"optimizer", "an fp32 copy of the weights (12 bytes), SGD with momentum 8", large, "adam", "sgd",
			func(a, b r) bool {
				return times(float64(a.Memory.Ranks[0].Optimizer), float64(b.Memory.Ranks[0].Optimizer),
					8.0/12, 1e-6)
			},
		},
		{
			"offload", "The optimizer state on the GPU, all of it", large, "none", "optimizer",
			func(_, b r) bool { return b.Memory.Ranks[0].Optimizer == 0 && b.Memory.Ranks[0].Offloaded > 0 },
		},
		{"loss", "three times as much", large, "fused", "unfused", func(a, b r) bool {
			return times(float64(a.Memory.Ranks[last(a)].Logits), float64(b.Memory.Ranks[last(b)].Logits), 3,
				1e-6)
		}},
		{
			"imbalance", "Memory and time of the routed experts", moe, "100", "150",
			func(a, b r) bool { return b.Memory.Peak > a.Memory.Peak && b.Time.Step > a.Time.Step },
		},
		{"attention", "flash", deep, "standard", "flash", func(a, b r) bool {
			return b.Memory.Ranks[0].Activations < a.Memory.Ranks[0].Activations && b.Time.Step <= a.Time.Step
		}},
		{"mtp", "on the last stage of the pipeline", moe, "off", "on", func(a, b r) bool {
			return b.Memory.Ranks[last(b)].Weights > a.Memory.Ranks[last(a)].Weights &&
				b.Memory.Ranks[1].Weights == a.Memory.Ranks[1].Weights
		}},
		{
			"calibration", "nanotron keeps about twice the activations", large, "megatron-core", "nanotron",
			func(a, b r) bool {
				return times(float64(a.Memory.Ranks[0].Activations), float64(b.Memory.Ranks[0].Activations),
					2, 0.3)
			},
		},
		{
			"mfu", "7 % more for Llama 3 70B at 8k tokens", large, "causal", "full",
			func(a, b r) bool { return times(a.Throughput.MFU, b.Throughput.MFU, 1.07, 0.01) },
		},
	}
}

// TestNotesSayWhatTheEngineDoes holds what the notes on the knobs say against
// the figures that the program shows beside them.
func TestNotesSayWhatTheEngineDoes(t *testing.T) {
	notes, err := words.Methods()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims() {
		note := notes[c.knob]
		if !strings.Contains(note.Cuts+" "+note.Costs+" "+note.Use+" "+note.Watch, c.words) {
			t.Errorf("the note on %s no longer says %q", c.knob, c.words)
			continue
		}
		a, b := claimed(t, c.on, c.knob, c.from), claimed(t, c.on, c.knob, c.to)
		if !a.Legal || !b.Legal {
			t.Errorf("%s %s to %s on %s is illegal: %v %v", c.knob, c.from, c.to, c.on, a.Problems,
				b.Problems)
			continue
		}
		if !c.holds(&a, &b) {
			t.Errorf("%s: %q does not hold from %s to %s on %s:\n%+v\n%+v\n%+v\n%+v", c.knob, c.words, c.from,
				c.to, c.on,
				a.Memory.Ranks[0], b.Memory.Ranks[0], a.Communication, b.Communication)
		}
	}
}

// claimedDraft is a setup in words: model, cluster, knobs.
func claimedDraft(t *testing.T, on string) knob.Draft {
	t.Helper()
	said := strings.Fields(on)
	m := presetModel(t, said[0])
	c, err := presets.Default().Cluster(said[1])
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(m, c, nil)
	for _, word := range said[2:] {
		id, text, _ := strings.Cut(word, "=")
		if id == "microbatches" || id == "gbs" {
			leaveOut(&d, knob.GBS, knob.MicroBatches) // the later word stands
		}
		if err := d.Set(knob.ID(id), text); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// claimed is the report of a setup with a knob turned to a value.
func claimed(t *testing.T, on string, id knob.ID, value string) engine.Report {
	t.Helper()
	s := claimedSetup(t, on)
	locks := knob.Locks{GPUs: true, Batch: true}
	switch id {
	case "nodes", "dp": // more of them at the same batch
		locks.GPUs = false
	case "microbatches", "gbs":
		locks.Batch = false
	default:
	}
	turned, err := knob.Turn(s, id, value, locks)
	if err != nil {
		t.Fatalf("%s %s on %s: %v", id, value, on, err)
	}
	return engine.Evaluate(turned)
}
