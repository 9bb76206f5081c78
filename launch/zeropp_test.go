package launch_test

import (
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
)

// TestZeROppRoundTrip: DeepSpeed's file has each key of ZeRO++, and is read back; other files say that they
// do not have it.
func TestZeROppRoundTrip(t *testing.T) {
	given := knob.Given{
		knob.GPUs: 64, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.GBS: 64, knob.MBS: 1,
		knob.Seq: 2048, knob.HPZ: 8, knob.QWZ: true, knob.QGZ: true,
	}
	s := setup(t, "llama3-8b", given)
	l, _ := launch.Find("deepspeed")
	d, refused := l.Export(&s, "test")
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	for _, key := range []string{
		`"zero_hpz_partition_size": 8`, `"zero_quantized_weights": true`, `"zero_quantized_gradients": true`,
	} {
		if !strings.Contains(string(d.Text()), key) {
			t.Errorf("no %s in %s", key, d.Text())
		}
	}
	if got, _ := back(t, d, &s); got.HPZ != 8 || !got.QWZ || !got.QGZ {
		t.Errorf("read back as %+v", got.Training)
	}
	none := s
	none.HPZ, none.QWZ, none.QGZ = 0, false, false
	if d, _ := l.Export(&none, "test"); strings.Contains(string(d.Text()), "zero_hpz") ||
		strings.Contains(string(d.Text()), "zero_quantized") {
		t.Errorf("without ZeRO++: %s", d.Text())
	}
	other, _ := launch.Find("accelerate")
	left := map[string]bool{}
	d, _ = other.Export(&s, "test")
	for _, n := range d.NotCarried {
		left[n.Key] = true
	}
	if !left["hpz"] || !left["qwz"] || !left["qgz"] {
		t.Errorf("accelerate leaves out %v", left)
	}
}
