package engine_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// hardwareFigures are the numbers of a cluster and its GPU by their path in a
// setup document.
func hardwareFigures(v reflect.Value, path string, into map[string]reflect.Value) map[string]reflect.Value {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch field := v.Field(i); {
		case name == "-" || name == "":
		case field.Kind() == reflect.Struct:
			hardwareFigures(field, path+"."+name, into)
		case field.CanInt() || field.CanFloat():
			into[path+"."+name] = field
		}
	}
	return into
}

// usesOfHardware are setups that together need every figure of a machine: every
// precision, one node and several, an offloaded optimizer.
func usesOfHardware(t *testing.T) map[string]engine.Setup {
	t.Helper()
	out := map[string]engine.Setup{}
	base := presets.DefaultSetup()
	base.Budget = 1e12
	for _, p := range recipe.Precisions() {
		s := base
		if s.Precision = p; s.Cluster.GPU.Peak(p) == 0 {
			cluster, err := presets.Default().Cluster("b200-8x-simumax")
			if err != nil {
				t.Fatal(err)
			}
			s.Cluster = cluster
		}
		out["in "+string(p)] = s
	}
	plain := base
	plain.Stack = recipe.Textbook
	out["on the plain roofline"] = plain
	offload := base
	offload.Offload = recipe.OffloadOptimizer
	out["offloaded"] = offload
	small := base
	small.PP, small.DP, small.GPUs = 1, 1, 8
	small.GBS = small.MicroBatches
	out["on one node"] = small
	for name, s := range out {
		if !engine.Legal(s) {
			t.Fatalf("%s: %v", name, engine.Check(s))
		}
	}
	return out
}

// TestNothingIsWorkedOutFromAMissingFigure takes every figure of GPU and cluster
// away, and makes every one impossible: either the result is unknown and names
// the field, or no figure of it changes because none needs it. What depends on
// it alone, cost and energy, is absent.
func TestNothingIsWorkedOutFromAMissingFigure(t *testing.T) {
	for name, s := range usesOfHardware(t) {
		want := engine.Evaluate(s)
		for path := range hardwareFigures(reflect.ValueOf(&s.Cluster).Elem(), "cluster",
			map[string]reflect.Value{}) {
			for _, value := range []float64{0, -1, math.NaN(), math.Inf(1)} {
				changed := s
				field := hardwareFigures(reflect.ValueOf(&changed.Cluster).Elem(), "cluster",
					map[string]reflect.Value{})[path]
				switch {
				case field.CanFloat():
					field.SetFloat(value)
				case value != math.Trunc(value) || math.IsInf(value, 0):
					continue // a whole number cannot be that
				default:
					field.SetInt(int64(value))
				}
				got := engine.Evaluate(changed)
				what := fmt.Sprintf("%s without %s (%v)", name, path, value)
				if !got.Legal {
					checkUnknown(t, what, path, &got)
					continue
				}
				if value != 0 {
					t.Errorf("%s is taken", what)
					continue
				}
				checkUnchanged(t, what, path, &got, &want)
			}
		}
	}
}

// named are fields whose problem speaks of them in words of its own.
func named(path string) string {
	return map[string]string{
		"cluster.gpu.peak_bf16": "bf16", "cluster.gpu.peak_fp16": "fp16", "cluster.gpu.peak_fp8": "fp8",
		"cluster.gpu.peak_fp4": "nvfp4", "cluster.gpu.peak_fp32": "fp32",
		"cluster.gpu.peak_tf32": "fp32", "cluster.inter.bandwidth": "no published network",
		"cluster.gpu.host_bandwidth": "host_bandwidth",
	}[path]
}

func checkUnknown(t *testing.T, what, path string, r *engine.Report) {
	t.Helper()
	if r.Memory != nil || r.Time != nil || r.Throughput != nil || r.Run != nil {
		t.Errorf("%s has figures although it is unknown", what)
	}
	for _, p := range r.Problems {
		if strings.Contains(p.Message, path) || named(path) != "" && strings.Contains(p.Message,
			named(path)) {
			return
		}
	}
	t.Errorf("%s: no problem names it: %v", what, r.Problems)
}

func checkUnchanged(t *testing.T, setup, path string, got, want *engine.Report) {
	t.Helper()
	before, after := map[string]float64{}, map[string]float64{}
	for _, f := range figures.List(want) {
		before[f.ID] = f.Value
	}
	for _, f := range figures.List(got) {
		after[f.ID] = f.Value
	}
	if path == "cluster.gpu.peak_tf32" {
		return // fp32 training then runs at the rate of fp32 units, as a GPU without TF32 does
	}
	for id, value := range after {
		if value != before[id] && (path != "cluster.gpu.memory_bytes" || id != "memory.capacity") {
			t.Errorf("%s: %s is %v, with it %v", setup, id, value, before[id])
		}
	}
	gone := map[string][]string{
		"cluster.gpu.tdp_W":                  {"run.energy", "run.power"},
		"cluster.gpu.price_usd_per_gpu_hour": {"run.cost", "run.price"},
	}[path]
	for id := range before {
		if _, ok := after[id]; ok {
			continue
		}
		// Measured runs tell nothing of a machine that is not the one they ran on.
		_, what, _ := strings.Cut(id, ".")
		found := what == "error-band" || what == "typical-error" || what == "validated-runs" ||
			what == "nearest-runs" || what == "nearest-error"
		for _, g := range gone {
			found = found || g == id
		}
		if !found {
			t.Errorf("%s: %s is gone without a word", setup, id)
		}
	}
}
