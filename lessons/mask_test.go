package lessons

import (
	"strings"
	"testing"

	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// TestMask: a figure is hidden in every unit and to any number of digits from two on; other numbers,
// names and knobs stay.
func TestMask(t *testing.T) {
	mask := NewMask([]figures.Figure{
		{ID: "memory.peak", Value: 86.58 * (1 << 30), Unit: record.Memory},
		{ID: "throughput.mfu", Value: 0.4653, Unit: record.Share},
		{ID: "time.step", Value: 0.4294, Unit: record.Seconds},
	}...)
	for text, want := range map[string]string{
		"over 86.6 GiB of 79.1":          "over ???? GiB of 79.1",
		"87 GiB, 86.58 GiB, 86.580 GiB":  "?? GiB, ????? GiB, ?????? GiB",
		"93.0 GB and 88,658 MiB":         "???? GB and ?????? MiB",
		"MFU 46.5 %, 47 %, 0.465":        "MFU ???? %, ?? %, ?????",
		"429 ms or 0.43 s or 429,400 us": "??? ms or ???? s or ??????? us",
		"H100, TP 8, 64 GPUs, 86.9 GiB":  "H100, TP 8, 64 GPUs, 86.9 GiB",
		"H100 87GB, 87 GB":               "H100 87GB, 87 GB",
		"0.4 s, 0.4, 4, 9 %":             "??? s, 0.4, 4, 9 %",
		"87 similar runs, 0.43":          "87 similar runs, ????",
		"≈86.6":                          "≈????",
	} {
		if got := mask.Text(text); got != want {
			t.Errorf("%s: %s, wanted %s", text, got, want)
		}
	}
	for _, v := range []float64{1.5e9, 3.25e11, 7.77e7, 123456789} {
		f := figures.Figure{Value: v, Unit: record.Memory}
		for _, u := range []record.Unit{record.Memory, record.Traffic, record.FLOPs} {
			if text := u.Text(v); strings.ContainsAny(NewMask(f).Text(text), "123456789") {
				t.Errorf("%s is shown as %s", text, NewMask(f).Text(text))
			}
		}
	}
}
