package presets_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/presets"
	"meshscope/presets/input"
)

const soundCalibration = `id = "mine"
kind = "gpu"
applies_to = ["h100-sxm"]
fitted_to = "a test"
source = "a test"
inherits = "gpu-h100"

[figures]
gemm_efficiency = 0.5
`

// TestCalibrationIsRefused: an impossible value names the file, the line and
// the figure.
func TestCalibrationIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, new, key string }{
		"efficiency above 1": {"gemm_efficiency = 0.5", "gemm_efficiency = 1.2", "gemm_efficiency"},
		"negative latency":   {"gemm_efficiency = 0.5", "kernel_start_us = -3.0", "kernel_start_us"},
		"not a number":       {"gemm_efficiency = 0.5", "gemm_efficiency = nan", "gemm_efficiency"},
		"infinite":           {"gemm_efficiency = 0.5", "gemm_half_k = inf", "gemm_half_k"},
		"unknown figure":     {"gemm_efficiency = 0.5", "gem_efficiency = 0.5", "gem_efficiency"},
		"unknown kind":       {`kind = "gpu"`, `kind = "cpu"`, "kind"},
		"other kind's":       {"gemm_efficiency = 0.5", "factor = 1.0", "factor"},
		"no word of the fit": {`fitted_to = "a test"`, ``, "fitted_to"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(soundCalibration, c.old, c.new, 1)
			_, errs := presets.Load(fstest.MapFS{"calibrations/mine.toml": {Data: []byte(text)}},
				presets.Default())
			var file *input.Error
			if len(errs) != 1 || !errors.As(errs[0], &file) {
				t.Fatalf("refused with %v", errs)
			}
			if file.File != "calibrations/mine.toml" || !strings.Contains(errs[0].Error(), c.key) {
				t.Errorf("%v does not name the file and %s", errs[0], c.key)
			}
		})
	}
}

// TestCalibrationOfOnesOwn: a user's file goes before the built-in one and
// inherits from it.
func TestCalibrationOfOnesOwn(t *testing.T) {
	l, errs := presets.Load(fstest.MapFS{"calibrations/mine.toml": {Data: []byte(soundCalibration)}},
		presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	own, err := l.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	built, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Calibration.Ops; got.Gemm != 0.5 || got.Stream != built.Calibration.Ops.Stream {
		t.Errorf("own calibration: %+v", got)
	}
	if again, err := presets.Default().Cluster("dgx-h100"); err != nil || again != built {
		t.Error("the same cluster twice is not the same")
	}
}

// TestEveryGPUIsCalibrated: a GPU without measurements of its own says whose it
// takes.
func TestEveryGPUIsCalibrated(t *testing.T) {
	l := presets.Default()
	for _, g := range l.GPUs() {
		c := l.NodeOf(g.GPU)
		if c.Calibration == nil {
			t.Errorf("%s has no calibration", g.ID)
			continue
		}
		if c.Calibration.Ops.Scan <= 0 {
			t.Errorf("%s: kernels of scans reach the whole bandwidth", g.ID)
		}
		first := map[string]bool{"a100-pcie-80g": true, "h100-sxm": true, "b200-sxm": true}
		inherits := strings.Contains(strings.Join(c.Calibration.Notes, " "), "nearest GPU")
		if inherits == first[g.ID] {
			t.Errorf("%s: notes are %q", g.ID, c.Calibration.Notes)
		}
	}
}
