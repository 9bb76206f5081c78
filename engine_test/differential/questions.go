package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// drawer draws random questions. What it may name it asks the program itself.
type drawer struct {
	*rand.Rand
	dense, moe, clusters, gpus []string
}

func newDrawer(program string, r *rand.Rand) (*drawer, error) {
	d := &drawer{Rand: r}
	for _, kind := range []string{"models", "clusters", "gpus"} {
		out, err := exec.CommandContext(context.Background(), program, "presets", kind, "--json").Output()
		if err != nil {
			return nil, fmt.Errorf("presets %s: %w", kind, err)
		}
		var doc map[string]json.RawMessage
		var rows []struct {
			ID      string `json:"id"`
			Experts int    `json:"n_experts"`
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(doc[kind], &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			switch {
			case kind == "clusters":
				d.clusters = append(d.clusters, row.ID)
			case kind == "gpus":
				d.gpus = append(d.gpus, row.ID)
			case row.Experts > 0:
				d.moe = append(d.moe, row.ID)
			default:
				d.dense = append(d.dense, row.ID)
			}
		}
	}
	return d, nil
}

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

func (d *drawer) chance(percent int) bool { return d.IntN(100) < percent }

// setup draws the flat keys of a setup document, mostly of a legal one.
func (d *drawer) setup() map[string]any {
	s := map[string]any{}
	moe := d.chance(35)
	s["model"] = pick(d, d.dense...)
	if moe {
		s["model"] = pick(d, d.moe...)
	}
	if d.chance(85) {
		s["cluster"] = pick(d, d.clusters...)
	} else {
		s["gpu"] = pick(d, d.gpus...)
	}
	for _, k := range []struct {
		id     string
		often  int
		values []int
	}{
		{"tp", 80, []int{1, 2, 4, 8, 8, 3, 16}},
		{"pp", 70, []int{1, 2, 2, 4, 4, 8, 16, 5}},
		{"dp", 70, []int{1, 2, 4, 8, 16, 64}},
		{"cp", 20, []int{1, 2, 4}},
		{"zero", 40, []int{0, 1, 2, 3}},
		{"mbs", 40, []int{1, 1, 2, 4}},
		{"microbatches", 70, []int{1, 2, 4, 8, 16, 32, 64, 9}},
		{"seq", 40, []int{512, 2048, 4096, 8192, 32768}},
		{"imbalance", 5, []int{100, 150, 200}},
		{"hsdp", 4, []int{1, 2}},
	} {
		if d.chance(k.often) {
			s[k.id] = pick(d, k.values...)
		}
	}
	if moe {
		s["ep"] = pick(d, 1, 2, 4, 8)
		if d.chance(15) {
			s["etp"] = pick(d, 1, 2, 4, 8)
		}
	}
	d.recipe(s)
	return s
}

func (d *drawer) recipe(s map[string]any) {
	if d.chance(40) {
		s["schedule"] = pick(d, schedules()...)
		s["vpp"] = pick(d, 1, 2, 2, 4)
		switch s["schedule"] {
		case "naive", "afab", "1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-auto", "dualpipe":
			s["vpp"] = 1
		case "zb-v", "zb-v-auto", "v-half", "v-min", "1f1b-v", "dualpipe-v":
			s["vpp"] = 2
		}
	} else if d.chance(10) {
		s["vpp"] = pick(d, 2, 4, 5)
	}
	for _, k := range []struct {
		id     string
		often  int
		values []string
	}{
		{"recompute", 50, []string{
			"none", "selective", "full", "full:2", "modules:norm,act",
			"modules:mla-up,moe-act,shared",
		}},
		{"precision", 35, []string{
			"bf16", "fp16", "fp32", "fp8", "fp8:te", "fp8:deepseek", "fp8:fp8-lm",
			"fp8:nanotron", "fp8:megatron", "fp8:tensor",
		}},
		{"grad_dtype", 20, []string{"fp32", "bf16", "bf16+fp32"}},
		{"optimizer", 12, []string{"adam", "adam-no-master", "sgd"}},
		{"offload", 8, []string{"none", "optimizer"}},
		{"loss", 10, []string{"fused", "unfused"}},
		{"attention", 15, []string{"flash", "standard"}},
		{"calibration", 55, []string{
			"default", "megatron-core", "megatron-2022", "megatron-2021", "nanotron",
			"torchtitan", "textbook",
		}},
		{"mfu", 10, []string{"causal", "full"}},
	} {
		if d.chance(k.often) {
			s[k.id] = pick(d, k.values...)
		}
	}
	if d.chance(8) {
		s["sp"] = d.chance(50)
	}
	if d.chance(4) {
		s["mtp"] = true
	}
	if d.chance(10) {
		s["tokens"] = pick(d, "15T", "300B")
	}
}

func schedules() []string {
	return strings.Fields("naive afab 1f1b interleaved looped-bfs zb-h1 zb-h2 zb-1p zb-2p zb-auto " +
		"interleaved-zb zb-v zb-v-auto v-half v-min 1f1b-v dualpipe dualpipe-v")
}

func (d *drawer) batches(n int) []question {
	const size = 500
	var all []question
	for n > 0 {
		var b strings.Builder
		for range min(n, size) {
			line, _ := json.Marshal(d.setup())
			b.Write(line)
			b.WriteByte('\n')
		}
		all = append(all, question{args: []string{"eval", "--batch", "-"}, input: b.String()})
		n -= size
	}
	return all
}

// flags writes a drawn setup as flags, without those named.
func flags(s map[string]any, without ...string) []string {
	var out []string
	for _, id := range strings.Fields("model cluster gpu dp tp pp vpp cp ep etp sp zero hsdp mbs " +
		"microbatches seq schedule recompute precision grad_dtype optimizer offload loss imbalance " +
		"attention mtp calibration mfu tokens") {
		v, ok := s[id]
		if !ok || slices.Contains(without, id) {
			continue
		}
		text := fmt.Sprint(v)
		if on, ok := v.(bool); ok {
			text = map[bool]string{true: "on", false: "off"}[on]
		}
		out = append(out, "--"+strings.ReplaceAll(id, "_", "-")+"="+text)
	}
	return out
}

func (d *drawer) searches(n int) []question {
	var all []question
	for range n {
		s := d.setup()
		args := append([]string{
			"search", "--json",
			"--gpus=" + strconv.Itoa(pick(d, 8, 16, 32, 64, 64, 128)),
		},
			flags(s, "dp", "tp", "pp", "cp", "ep", "etp", "vpp", "zero", "mbs", "microbatches", "schedule",
				"recompute", "tokens", "hsdp")...)
		if d.chance(50) {
			args = append(args, "--gbs="+strconv.Itoa(pick(d, 64, 128, 256, 512)))
		}
		if d.chance(30) {
			args = append(args, "--tp="+pick(d, "1,2,4,8", "..8", "2..8"))
		}
		if d.chance(20) {
			args = append(args, "--schedule="+pick(d, "all", "1f1b,zb-h1", "interleaved"))
		}
		if d.chance(20) {
			args = append(args, "--headroom="+pick(d, "5%", "2GiB"))
		}
		if d.chance(15) {
			args = append(args, "--front")
		}
		all = append(all, question{args: args})
	}
	return all
}

func (d *drawer) comparisons(n int) []question {
	var all []question
	for range n {
		s := d.setup()
		change := pick(d, "tp=4", "pp=4", "zero=3", "recompute=full", "schedule=zb-h1", "mbs=2", "cp=2",
			"precision=fp8", "calibration=nanotron")
		all = append(all, question{args: append([]string{"compare", change, "--json"}, flags(s)...)})
	}
	return all
}

func (d *drawer) scans(n int) []question {
	var all []question
	for range n {
		s := d.setup()
		args := append([]string{
			"scan", "--json", "--x",
			pick(d, "tp", "pp", "zero", "mbs", "recompute", "microbatches", "seq", "schedule"),
		}, flags(s)...)
		if d.chance(30) {
			args = append(args, "--by", pick(d, "cp", "vpp", "precision", "sp"))
		}
		if d.chance(60) {
			args = append(args, "--y", pick(d, "peak", "step", "mfu", "bubble"))
		}
		all = append(all, question{args: args})
	}
	return all
}

func (d *drawer) timelines() []question {
	var all []question
	for _, kind := range schedules() {
		for _, format := range []string{"", "--json", "--svg", "--chrome-trace"} {
			for _, costs := range [][]string{
				{"--tf=1", "--ti=1", "--tw=1"},
				{"--tf=1", "--tb=2.5", "--p2p=0.1"},
				{"--tp=8", "--cluster=dgx-h200"},
			} {
				args := append([]string{"timeline", "--schedule=" + kind, "--pp=4", "--microbatches=12"},
					costs...)
				switch kind {
				case "interleaved", "looped-bfs", "interleaved-zb", "zb-v", "zb-v-auto", "v-half", "v-min",
					"1f1b-v", "dualpipe-v":
					args = append(args, "--vpp=2")
				}
				if format != "" {
					args = append(args, format)
				}
				all = append(all, question{args: args, plain: format == "" || format == "--svg"})
			}
		}
	}
	return all
}

func (d *drawer) presets() []question {
	var all []question
	for _, kind := range strings.Fields("models gpus clusters calibrations runs") {
		all = append(all, question{args: []string{"presets", kind, "--json"}})
	}
	for _, id := range append(append([]string{}, d.dense...), d.moe...) {
		all = append(all, question{args: []string{"presets", "models", id, "--json"}})
	}
	return all
}

// explanations explain whatever figure the program lists, three levels deep.
func (d *drawer) explanations(n int) []question {
	var all []question
	for range n {
		given := flags(d.setup())
		for _, figure := range strings.Fields("memory.peak time.step throughput.mfu throughput.hfu " +
			"memory.ranks.0.total memory.ranks.0.overhead memory.ranks.0.parameters " +
			"memory.ranks.0.weight-inputs time.bubble time.exposed model.parameters " +
			"model.training-flops-per-token communication.tp.seconds communication.dp.exposed " +
			"communication.ep.bytes pipeline.bubble-over-ideal") {
			all = append(all,
				question{
					args:    append([]string{"explain", figure, "--json", "--depth", "8"}, given...),
					figures: true,
				})
		}
		all = append(all, question{args: append([]string{"explain", "--json"}, given...)})
	}
	return all
}

func (d *drawer) advice(n int) []question {
	var all []question
	for range n {
		all = append(all, question{args: append([]string{"advise", "--json"}, flags(d.setup())...)})
	}
	return all
}
