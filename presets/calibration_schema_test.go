package presets

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/presets/input"
)

// fileOf returns a calibration of one's own for the default machine, with the figures
// given and nothing inherited.
func fileOf(kind string, figures map[string]float64) fstest.MapFS {
	id, appliesTo := "mine", "dgx-h100"
	switch kind {
	case kindStack:
		appliesTo = string(recipe.MegatronCore)
	case kindMemory:
		appliesTo = string(recipe.Nanotron)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "id = %q\nkind = %q\napplies_to = [%q]\nfitted_to = \"a test\"\nsource = \"a "+
		"test\"\n\n[figures]\n", id, kind, appliesTo)
	for _, key := range slices.Sorted(maps.Keys(figures)) {
		fmt.Fprintf(&b, "%s = %s\n", key, tomlNumber(figures[key]))
	}
	return fstest.MapFS{"calibrations/" + id + ".toml": {Data: []byte(b.String())}}
}

func tomlNumber(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// complete returns the figures current on the default machine.
func complete(t *testing.T, kind string) map[string]float64 {
	t.Helper()
	files := Default().calibrationFiles()
	named := func(id string) *CalibrationPreset {
		return &files[slices.IndexFunc(files, func(p CalibrationPreset) bool { return p.ID == id })]
	}
	switch kind {
	case kindStack:
		return files.inherited(named("stack-megatron-core"), nil)
	case kindMemory:
		return files.inherited(named("memory-nanotron"), nil)
	}
	return files.inherited(files.pick(kind, []string{"dgx-h100", "h100-sxm"}), nil)
}

func onDefaultMachine(t *testing.T, lib *Library, stack recipe.Stack) engine.Report {
	t.Helper()
	s := DefaultSetup()
	c, err := lib.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster, s.Stack = c, stack
	return engine.Evaluate(s)
}

// TestEveryImpossibleFigureIsRefused: of every figure of the schema a value below
// and above what can be, no number and infinity are refused with the file's and
// the figure's name; a rate cannot be zero.
func TestEveryImpossibleFigureIsRefused(t *testing.T) {
	for _, kind := range []string{kindGPU, kindNetwork, kindStack, kindMemory} {
		known, _ := figureRanges(kind)
		for _, r := range known {
			bad := []float64{r.low - 0.5, -1, 1.01*r.high + 1, math.NaN(), math.Inf(1), math.Inf(-1)}
			if strings.HasSuffix(r.key, "_efficiency") {
				bad = append(bad, 0, 1.0001)
			}
			for _, v := range bad {
				_, errs := Load(fileOf(kind, map[string]float64{r.key: v}), Default())
				var file *input.Error
				if len(errs) != 1 || !errors.As(errs[0], &file) ||
					!strings.HasPrefix(file.File, "calibrations/") ||
					!strings.Contains(errs[0].Error(), r.key) {
					t.Errorf("%s %s = %v: %v", kind, r.key, v, errs)
				}
			}
		}
	}
}

// TestNoFigureIsMissedSilently takes every figure out of a complete calibration:
// one that is needed makes the result unknown, by name; without one that is not,
// there is a result, and it is finite.
func TestNoFigureIsMissedSilently(t *testing.T) {
	for _, kind := range []string{kindGPU, kindNetwork, kindStack, kindMemory} {
		known, _ := figureRanges(kind)
		all := complete(t, kind)
		if kind == kindNetwork { // a node of two halves, so that its figures are there too
			maps.Copy(all, map[string]float64{
				"bridge_efficiency": 0.9, "half_node_ring_efficiency": 0.8,
				"half_node_all_to_all_efficiency": 0.7,
			})
		}
		for _, r := range known {
			figures := maps.Clone(all)
			delete(figures, r.key)
			lib, errs := Load(fileOf(kind, figures), Default())
			if len(errs) > 0 {
				t.Fatalf("%s without %s: %v", kind, r.key, errs)
			}
			stack := recipe.MegatronCore
			if kind == kindMemory {
				stack = recipe.Nanotron
			}
			report := onDefaultMachine(t, lib, stack)
			needed := r.needed || strings.HasPrefix(r.key, "half_node_")
			switch {
			case needed && (report.Legal || report.Time != nil):
				t.Errorf("%s without %s has a step time", kind, r.key)
			case needed && !slices.ContainsFunc(report.Problems, func(p engine.Problem) bool {
				return p.Code == "calibration-missing" && strings.Contains(p.Message, r.key) &&
					len(p.Nearest) > 0
			}):
				t.Errorf("%s without %s: %v", kind, r.key, report.Problems)
			case !needed &&
				(!report.Legal || !(report.Time.Step > 0) || math.IsInf(float64(report.Time.Step), 0)):
				t.Errorf("%s without %s: %+v %v", kind, r.key, report.Time, report.Problems)
			}
		}
	}
}

// TestBuiltInCalibrationsLackNothing: every machine has every needed figure, on
// every stack.
func TestBuiltInCalibrationsLackNothing(t *testing.T) {
	for _, c := range Default().Clusters() {
		for _, stack := range recipe.Stacks() {
			if lacks := c.MemoryOf(stack).Missing; lacks != "" {
				t.Errorf("%s: %s", c.ID, lacks)
			}
		}
		for i := range c.Calibration.Software {
			if lacks := c.Calibration.Lacks(c.Calibration.Software[i].Stack); lacks != "" {
				t.Errorf("%s: %s", c.ID, lacks)
			}
		}
	}
}
