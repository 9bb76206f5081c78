package cli_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
)

// fewest is what these tests read of search --json.
type fewest struct {
	GPUs    []int `json:"gpus_tried"`
	Results []struct {
		Layout struct{ GPUs, GBS, DP, MBS int }
		Report struct {
			Run  struct{ Days float64 }
			Time struct {
				ErrorBand float64 `json:"error_band"`
			}
		}
	}
	Conflict *struct{ Message string }
}

func searchFewest(t *testing.T, flags string) (fewest, string) {
	t.Helper()
	var f fewest
	args := append([]string{"search", "--time", "0"}, strings.Fields(flags)...)
	_, text, complaint := run(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%v %s", err, complaint)
	}
	_, page, _ := run(t, args...)
	return f, strings.Join(strings.Fields(page), " ")
}

// The fewest GPUs are no power of two where fewer will do, and the page says among
// which numbers it looked.
func TestFewestGPUs(t *testing.T) {
	question := "--tokens 2T --deadline 30d --objective fewest-gpus --headroom 5%"
	if !draws.Deep() {
		question += " --tp 8 --cp 1 --mbs 1 --zero 1"
	}
	f, page := searchFewest(t, question)
	if len(f.Results) == 0 || f.Results[0].Layout.GPUs > 890 || f.Results[0].Report.Run.Days > 30 ||
		len(f.GPUs) < 20 {
		t.Errorf("%+v", f)
	}
	for _, want := range []string{
		"numbers of GPUs", "one in between may also suffice", "1,024",
		"using the default of each number of GPUs, near that of the published run nearest in GPUs",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not said:\n%s", want, page)
		}
	}
	// A batch that was given is kept, and said to bind.
	f, page = searchFewest(t,
		"--model llama3.1-8b --tokens 1T --deadline 20d --objective fewest-gpus --gbs 512")
	if len(f.Results) == 0 || f.Results[0].Layout.GBS != 512 ||
		!strings.Contains(page, "another --gbs may need fewer") {
		t.Errorf("%+v\n%s", f, page)
	}
}

// Adapters of a small model fit on one GPU, which is fewer than those of a node.
func TestFewestGPUsBelowANode(t *testing.T) {
	f, page := searchFewest(t, "--model llama3.1-8b --lora 16 --objective fewest-gpus")
	if len(f.Results) == 0 || f.Results[0].Layout.GPUs != 1 ||
		!strings.Contains(page, "powers of two below a node and whole nodes") {
		t.Errorf("%+v\n%s", f, page)
	}
}

// A batch that nobody chose does not grow to meet a deadline; one that is asked for does.
func TestDeadlineLeavesTheBatch(t *testing.T) {
	question := "--model qwen3-8b --gpus 2048 --tokens 15T --deadline 12d --pp 1 --top 1"
	if !draws.Deep() {
		question += " --tp 2,4 --cp 1 --zero 1"
	}
	f, page := searchFewest(t, question)
	for _, want := range []string{
		"the default global batch of 512 sequences (choose another with --gbs)",
		"at the slow end of its band",
	} {
		if len(f.Results) > 0 || !strings.Contains(page, want) {
			t.Errorf("%q is not said: %+v\n%s", want, f, page)
		}
	}
	f, page = searchFewest(t, question+" --gbs 512..8192")
	if len(f.Results) == 0 || f.Results[0].Layout.GBS <= 512 {
		t.Fatalf("%+v\n%s", f, page)
	}
	if r := f.Results[0].Report; r.Run.Days*(1+r.Time.ErrorBand) > 12 {
		t.Errorf("%.2f days with a band of %.2f: the slow end misses the deadline", r.Run.Days,
			r.Time.ErrorBand)
	}
	if f, page = searchFewest(t, question+" --gbs 512"); len(f.Results) > 0 ||
		!strings.Contains(page, "a global batch of 512 sequences (--gbs)") {
		t.Errorf("%+v\n%s", f, page)
	}
}

// The fewest GPUs are the least number for which a search of that number alone, with the
// same limits, finds something: there is one rule for the batch that nobody gave.
func TestFewestAgreesWithEachNumber(t *testing.T) {
	for _, flags := range draws.Some(2,
		"--model llama3.1-8b --tokens 1T --deadline 20d --tp 2 --cp 1 --zero 1 --gpus 8..512:16",
		"--model llama3.1-70b --headroom 20% --tp ..8 --cp 1 --zero 1",
		"--model llama3.1-70b --headroom 20%",
		"--model llama3.1-8b --tokens 1T --deadline 20d --tp ..4 --cp 1 --zero 1",
		"--model llama3.1-8b --tokens 1T --deadline 20d --tp ..4",
		"--model llama3.1-8b --tokens 1T --deadline 20d --tp 2 --gpus 8..512:16",
	) {
		f, _ := searchFewest(t, flags+" --top 1 --objective fewest-gpus")
		if len(f.Results) == 0 || len(f.GPUs) < 3 {
			t.Fatalf("%s: %+v", flags, f)
		}
		fewest := f.Results[0].Layout
		alone, _, _ := strings.Cut(flags, " --gpus")
		for _, n := range f.GPUs {
			if n > fewest.GPUs {
				break
			}
			var one struct {
				Results []struct{ Layout struct{ GPUs, GBS int } }
			}
			_, text, _ := run(t,
				append([]string{"search", "--time", "0", "--json", "--top", "1", "--gpus", strconv.Itoa(n)},
					strings.Fields(alone)...)...)
			if err := json.Unmarshal([]byte(text), &one); err != nil {
				t.Fatal(err)
			}
			switch {
			case n < fewest.GPUs && len(one.Results) > 0:
				t.Errorf("%s: %d GPUs will do, and %d are said to be the fewest", flags, n, fewest.GPUs)
			case n == fewest.GPUs && (len(one.Results) == 0 || one.Results[0].Layout.GBS != fewest.GBS):
				t.Errorf("%s: %d GPUs alone give %+v, among others a batch of %d", flags, n, one.Results,
					fewest.GBS)
			}
		}
	}
}

// The largest micro-batch is bounded by memory or the batch, not by the list of those
// that other searches try; what ended it is said, for the longest sequence too.
func TestLargestGoesOn(t *testing.T) {
	const question = "--model llama3.1-8b --gpus 64 --top 1"
	f, page := searchFewest(t, question+" --objective largest-mbs")
	if len(f.Results) == 0 || f.Results[0].Layout.MBS < 128 || !strings.Contains(page, "have a layout") &&
		!strings.Contains(page, "has a layout that meets the limits") &&
		!strings.Contains(page, "The global batch is the limit") {
		t.Fatalf("%+v\n%s", f, page)
	}
	largest := f.Results[0].Layout.MBS
	if largest < f.Results[0].Layout.GBS {
		if next, _ := searchFewest(t, question+" --mbs "+strconv.Itoa(2*largest)); len(next.Results) > 0 {
			t.Errorf("%d is said to be the largest, %d fits", largest, 2*largest)
		}
	}
	// Where the batch is all that there is, it is said.
	if f, page = searchFewest(t, question+" --gbs 8 --dp 1 --objective largest-mbs"); len(f.Results) == 0 ||
		f.Results[0].Layout.MBS != 8 || !strings.Contains(page, "The global batch is the limit") {
		t.Errorf("%+v\n%s", f, page)
	}
	if _, page = searchFewest(t, question+" --objective longest-seq"); !strings.Contains(page,
		"were tried, doubling") ||
		!strings.Contains(page, "longer than the 131072 tokens the model was published with") {
		t.Errorf("%s", page)
	}
}

// A value of a list that the stack does not have is refused, for the reason that it gets alone.
func TestListOfWhatTheStackLacks(t *testing.T) {
	for flags, why := range map[string]string{
		"--offload none,weights":          "megatron-core has no weights on the host here",
		"--optimizer adamw,adamw-paged":   "megatron-core has no adamw-paged here",
		"--offload activations,weights":   "megatron-core has no offload activations here",
		"--optimizer adam,sgd":            "",
		"--free optimizer --offload none": "",
	} {
		code, _, errors := run(t, strings.Fields("search --model llama3.1-8b --gpus 8 --top 1 "+flags)...)
		if refused := code != 0; refused != (why != "") || !strings.Contains(errors, why) {
			t.Errorf("%s: %d %s", flags, code, errors)
		}
	}
}

// What a search does not look at by itself is said beside its result.
func TestSearchSaysWhatItLeavesOut(t *testing.T) {
	const question = "--model llama3.1-8b --gpus 8 --top 1"
	if _, page := searchFewest(t, question); !strings.Contains(page, "not searched offload (--offload "+
		"optimizer), other values of split, grad-dtype, optimizer, loss, attention (--free split,"+
		"grad-dtype,optimizer,loss,attention), vpp above 16, schedules other than 1f1b and "+
		"interleaved (--schedule all)") {
		t.Errorf("%s", page)
	}
	const every = " --vpp 1 --schedule all --offload optimizer --free grad-dtype,optimizer,loss,attention"
	if _, page := searchFewest(t, question+every+" --pp 1"); strings.Contains(page, "not searched") {
		t.Errorf("%s", page)
	}
	if _, page := searchFewest(t, question+every+",split"); !strings.Contains(page, "not searched splits "+
		"other than one or two layers less at the end or at both, or of more than 16 stages") {
		t.Errorf("%s", page)
	}
	// What the launcher refuses of a list is not pointed to, and all that is one value is given as it.
	const titan = question + " --calibration torchtitan"
	if _, page := searchFewest(t, titan); !strings.Contains(page,
		"not searched other values of split, loss (--free split,loss), vpp") {
		t.Errorf("%s", page)
	}
	if _, page := searchFewest(t, question+" --stack deepspeed"); !strings.Contains(page,
		"ZeRO++ (--zero 3 with --hpz, --qwz, --qgz)") {
		t.Errorf("%s", page)
	}
	if _, page := searchFewest(t, titan+" --launcher any"); !strings.Contains(page, "--free split,"+
		"grad-dtype,optimizer,loss,attention") {
		t.Errorf("%s", page)
	}
	if _, page := searchFewest(t, titan+" --free grad-dtype,loss"); !strings.Contains(page,
		"given grad-dtype fp32, loss all") {
		t.Errorf("%s", page)
	}
	// So is what would do, of what nobody spoke against.
	const short = "--model llama3-70b --gpu a100-sxm-80g --gpus 16 --gbs 16 --seq 16"
	const would = "layouts that fit: --grad-dtype bf16, --offload optimizer."
	if _, page := searchFewest(t, short); !strings.Contains(page, would) {
		t.Errorf("%s", page)
	}
	if _, page := searchFewest(t, short+" --grad-dtype fp32"); !strings.Contains(page,
		"layouts that fit: --offload optimizer.") {
		t.Errorf("%s", page)
	}
}
