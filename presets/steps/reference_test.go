package steps_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
	"meshscope/engine_test/shared"
	"meshscope/presets/steps"
)

// simulate runs the reference, a ledger of PyTorch's operations in Python, on one record a line. Expandable
// segments cut every block, so that what is allocated does not depend on where it lies.
const simulate = `
import json, sys
import ledger
class Cut(ledger.Pool):
    def take(s, n, stream):
        n = max(512, (n + 511) // 512 * 512)
        s.now += n
        s.peak = s.reserved = max(s.peak, s.now)
        return [n], None
    def give(s, b, key): s.now -= b[0]
whole = ledger.Pool
for line in sys.stdin:
    c = json.loads(line)
    ledger.G.__class__ = Cut if c.get('expandable') else whole
    mem, trace, reserved, t = ledger.simulate({k: v for k, v in c.items() if k != 'kind'})
    keep = lambda m: {k: v for k, v in m.items() if not k.startswith('at_')}
    print(json.dumps(dict(c, memory={k: keep(v) for k, v in mem.items()}, reserved=reserved, base=0, **t)))
`

// draw returns a record of a random shape and way.
func draw(r *rand.Rand) map[string]any {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	maybe := func(one int) bool { return r.IntN(one) == 0 }
	way := []string{"fsdp2", "fsdp2", "fsdp2", "autocast", "bf16", "hf", "hf-autocast", "lora"}[r.IntN(8)]
	transformers := strings.HasPrefix(way, "hf") || way == "lora"
	d := pick(64, 128)
	kv := pick(1, 2, 4, 8)
	heads := kv * pick(1, 2, 4)
	c := map[string]any{
		"kind": "step", "way": way, "L": pick(1, 2, 3, 5), "h": 128 * pick(3, 5, 8, 16), "heads": heads,
		"kv": kv, "d": d, "f": 64 * pick(5, 23, 86),
		// with few the forward is largest where a caller has a norm's output here, as in PyTorch, and not in
		// the reference
		"V": pick(8209, 32000, 50257), "seq": 128 * pick(1, 3, 8, 30), "mbs": pick(1, 2, 3),
		"m":  pick(1, 1, 2, 3, 4),
		"ac": []string{"none", "full"}[r.IntN(2)], "tied": maybe(3),
		"opt": []string{"fused", "foreach"}[r.IntN(2)], "expandable": maybe(2),
	}
	switch {
	case transformers:
		if way == "lora" {
			c["rank"], c["targets"] = pick(8, 64),
				[][]string{{"q_proj", "v_proj"}, {"q_proj", "k_proj", "v_proj", "o_proj"}}[r.IntN(2)]
		}
		// the reference has the cube of gelu_new in fp32 without autocast too
		if way == "hf-autocast" && maybe(2) {
			c["cls"], c["h"], c["kv"], c["ac"] = "GPT2", heads*d, heads, "none"
		} else if way != "lora" && maybe(3) { // nor does it freeze experts
			c["cls"], c["E"], c["top"], c["moe"] = "Qwen3Moe", pick(8, 32), pick(2, 4), 64*pick(3, 8)
		}
	default:
		c["ac"] = []string{"none", "full", "selective"}[r.IntN(3)]
		c["repeat"], c["cudnn"] = !maybe(4), maybe(3)
		switch {
		case maybe(4) && way != "autocast":
			c["compile"] = true
		case maybe(3):
			c["E"], c["top"], c["moe"] = pick(8, 32), pick(2, 4), 64*pick(3, 8)
			if maybe(2) {
				c["shared"] = 320
			}
		}
		if maybe(6) {
			if c["V"] = 0; way == "autocast" {
				delete(c, "shared") // its index_add has two types, which PyTorch refuses
			}
		}
		c["cpu"] = way == "fsdp2" && maybe(5)
	}
	// nor does it hold what GPT2Block.forward has of its second norm while the MLP runs: then the peak; and
	// the input of a checkpointed block stays on its GPU
	if c["compile"] == nil && c["ac"] == "none" && c["cls"] != "GPT2" && maybe(6) {
		c["acts_cpu"] = true
	}
	return c
}

// TestReference: random shapes and ways, against the reference that the measured steps confirmed to 7 MiB.
func TestReference(t *testing.T) {
	dir := filepath.Dir(shared.Path(t, "tools", "gpu", "ledger.py"))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	n := 6
	if draws.Deep() {
		n = 40
	}
	if given, err := strconv.Atoi(os.Getenv("MESHSCOPE_STEPS")); err == nil {
		n = given
	}
	for _, seed := range draws.Seeds() {
		r := rand.New(rand.NewPCG(seed, 0))
		var in bytes.Buffer
		var sent []string
		for range n {
			line, err := json.Marshal(draw(r))
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(line, '\n'))
			sent = append(sent, string(line))
		}
		cmd := exec.CommandContext(t.Context(), python, "-c", simulate)
		cmd.Stdin, cmd.Env = &in, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		rows, unmapped, _, err := steps.Compare(bytes.NewReader(out))
		if err != nil || len(unmapped) > 0 {
			t.Fatalf("seed %d: %v, left out: %v", seed, err, unmapped)
		}
		for i := range rows {
			for _, p := range rows[i].Phases {
				near := .002*p.Measured + 2<<20
				if !strings.Contains(sent[i], `"expandable":true`) { // the rest of a block, up to 1 MiB, is not cut
					near = .02*p.Measured + 8<<20
				}
				if math.Abs(p.Predicted-p.Measured) > near {
					t.Errorf("seed %d: %s is %.0f, the reference has %.0f (%+.2f %%): %s", seed, p.Name,
						p.Predicted, p.Measured, 100*p.Error(), sent[i])
				}
			}
			for _, f := range []struct {
				name string
				steps.Pair
			}{
				{"forward", rows[i].Forward},
				{"backward", rows[i].Backward},
				{"optimizer", rows[i].Optimizer},
				{"step", rows[i].Step},
			} {
				if math.Abs(f.Predicted-f.Measured) > .05*f.Measured+200e-6 {
					t.Errorf("seed %d: %s takes %.4g s, in the reference %.4g s: %s", seed, f.name,
						f.Predicted, f.Measured, sent[i])
				}
			}
		}
	}
}
