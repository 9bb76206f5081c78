package cli_test

import (
	"strings"
	"testing"
)

// What neither side gives of the work is alike in both; where it cannot be, or somebody gives it, the
// first lines say in what it differs.
func TestCompareHoldsTheWork(t *testing.T) {
	t.Parallel()
	const unlike = "Not the same work a step: "
	for _, c := range []struct{ words, work, said string }{
		{"gpu=b200-sxm,gpus=128 gpu=h200-sxm,gpus=256", "", "B: precision fp8, gbs 256 as A has it"},
		{"gpu=h200-sxm,gpus=256 gpu=b200-sxm,gpus=128", "", "B: precision bf16, gbs 512 as A has it"},
		{"gpu=b200-sxm gpu=a100-sxm-80g --gpus 256", "", "A: precision bf16 as B has it"},
		{"gpu=b200-sxm gpu=h200-sxm --gpus 256 --tp 4 --pp 4", "", "B: precision fp8"},
		{
			"gpu=b200-sxm,precision=fp8 gpu=h200-sxm,gbs=512 --gpus 256 --tp 4 --pp 4",
			unlike + "gbs 256 in A, 512 in B; precision fp8 in A, bf16 in B", "",
		},
	} {
		t.Run(c.words, func(t *testing.T) {
			t.Parallel()
			_, out, _ := run(t, strings.Fields("compare --model llama3.1-70b "+c.words)...)
			_, work, _ := strings.Cut(out, "\nNot the same")
			if work != "" {
				line, _, _ := strings.Cut(work, "\n")
				work = "Not the same" + line
			}
			if work != c.work {
				t.Errorf("it says %q, want %q", work, c.work)
			}
			if !strings.Contains(out, "\n"+c.said) || c.said == "" && strings.Contains(out, " has it") {
				t.Errorf("it does not say %q:\n%.300s", c.said, out)
			}
		})
	}
}

// TestCompareWithNothing: an empty word, as an unset variable of a shell leaves one, is no setup.
func TestCompareWithNothing(t *testing.T) {
	for _, args := range [][]string{{""}, {"", "tp=8"}, {"tp=8", ""}} {
		code, out, said := run(t, append([]string{"compare", "--gpus", "8", "--tp", "4"}, args...)...)
		if code != 2 || out != "" || !strings.Contains(said, "empty setup") {
			t.Errorf("%q: exit code %d, %.200s, %s", args, code, out, said)
		}
	}
}
