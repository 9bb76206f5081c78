package launch_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine_test/shared"
	"meshscope/launch"
	"meshscope/presets"
)

// worked returns a code block below a heading of the reference, the first by default.
func worked(t *testing.T, heading string, n ...int) string {
	t.Helper()
	text, err := os.ReadFile(shared.Path(t, "launchers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(text), heading)
	if !ok {
		t.Fatalf("no %q in the reference", heading)
	}
	blocks, at := regexp.MustCompile("(?s)```bash\n(.*?)```").FindAllStringSubmatch(below, -1), 0
	if len(n) > 0 {
		at = n[0]
	}
	if len(blocks) <= at {
		t.Fatalf("no example below %q", heading)
	}
	return blocks[at][1]
}

// flagsOf returns flags with their values as a command line has them.
func flagsOf(text string) map[string]string {
	out, key := map[string]string{}, ""
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "\\\n", " ")) {
		word = strings.Trim(word, `"'`)
		if strings.HasPrefix(word, "-") && len(word) > 1 && (word[1] < '0' || word[1] > '9') {
			key = word
			out[key] = ""
		} else if key != "" {
			out[key] = strings.TrimSpace(out[key] + " " + word)
		}
	}
	return out
}

// TestWorkedExamples: what is read from an example of the reference is written with the same
// flags, but for those that are the user's to choose.
func TestWorkedExamples(t *testing.T) {
	for _, heading := range []string{"### 1.3 Worked example", "### 1.4 Worked example"} {
		text := worked(t, heading)
		r, ok := launch.Read("example.sh", []byte(text))
		if !ok || r.Launcher != "megatron" || len(r.Problems) > 0 {
			t.Fatalf("%s: read by %q: %+v", heading, r.Launcher, r.Problems)
		}
		doc, err := r.Document(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		s, err := doc.Setup(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		l, _ := launch.Find(r.Launcher)
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatalf("%s: %+v", heading, refused)
		}
		_, args, _ := strings.Cut(text, "pretrain_gpt.py")
		want := flagsOf(args)
		for _, e := range d.Entries {
			have := fmt.Sprint(e.Value)
			switch list := e.Value.(type) {
			case nil:
				have = ""
			case []any:
				have = strings.Trim(fmt.Sprint(list), "[]")
			}
			if e.Key == "vocab-size" { // the examples count without the token of NullTokenizer
				have = fmt.Sprint(s.Model.Vocab)
			}
			given, ok := want["--"+e.Key]
			if delete(want, "--"+e.Key); !e.Site && (!ok || given != have) {
				t.Errorf("%s: --%s %s, the example has %q (%t)", heading, e.Key, have, given, ok)
			}
		}
		for flag, value := range want {
			t.Errorf("%s: %s %s is not written", heading, flag, value)
		}
		for flag, value := range flagsOf(strings.Split(text, "pretrain_gpt.py")[0]) {
			if flag == "--nnodes" && fmt.Sprint(d.Nodes) != value || flag == "--nproc_per_node" &&
				fmt.Sprint(d.PerNode) != value {
				t.Errorf("%s: %s %s, written are %d nodes of %d", heading, flag, value, d.Nodes, d.PerNode)
			}
		}
	}
}

// TestWorkedSetups: the examples are read as the setups that their headings tell.
func TestWorkedSetups(t *testing.T) {
	for heading, want := range map[string]knob.Given{
		"### 1.3 Worked example": {
			knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.DP: 4, knob.VPP: 5,
			knob.MicroBatches: 32, knob.GBS: 128, knob.Seq: 8192, knob.ZeRO: 1,
		},
		"### 1.4 Worked example": {
			knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.DP: 32, knob.EP: 64,
			knob.ETP: 1, knob.VPP: 2, knob.MicroBatches: 128, knob.GBS: 4096,
		},
	} {
		r, _ := launch.Read("example.sh", []byte(worked(t, heading)))
		doc, err := r.Document(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		s, err := doc.Setup(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		for id, n := range want {
			if k, _ := knob.Find(id); k.Int(s) != n {
				t.Errorf("%s: %s is %d, want %d", heading, id, k.Int(s), n)
			}
		}
		if len(r.Ignored) == 0 || len(r.Understood) == 0 {
			t.Errorf("%s: %d understood, %d ignored", heading, len(r.Understood), len(r.Ignored))
		}
	}
}

// TestWorkedBridge: the examples of Megatron-Bridge are read as what their headings tell, and
// written with the same keys; beside them stands only what the recipe sets already.
func TestWorkedBridge(t *testing.T) {
	for n, want := range []knob.Given{
		{
			knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.DP: 4, knob.VPP: 5, knob.GBS: 128, knob.Seq: 8192,
			knob.ZeRO: 1,
		},
		{
			knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.DP: 32, knob.VPP: 2, knob.EP: 64, knob.ETP: 1,
			knob.GBS: 4096, knob.Seq: 4096,
		},
	} {
		text := worked(t, "## 2. Megatron-Bridge", n)
		r, ok := launch.Read("example.sh", []byte(text))
		if !ok || r.Launcher != "bridge" || len(r.Problems) > 0 {
			t.Fatalf("example %d: read by %q: %+v", n, r.Launcher, r.Problems)
		}
		doc, err := r.Document(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		s, err := doc.Setup(presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range want {
			if k, _ := knob.Find(id); k.Int(s) != v {
				t.Errorf("example %d: %s is %d, want %d", n, id, k.Int(s), v)
			}
		}
		l, _ := launch.Find("bridge")
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatalf("example %d: %+v", n, refused)
		}
		written := strings.Fields(regexp.MustCompile(`(?m) #.*$`).ReplaceAllString(string(d.Text()), ""))
		words := strings.Fields(strings.ReplaceAll(text, "\\\n", " "))
		for i, word := range words[1:] {
			if strings.HasPrefix(word, "-") {
				word += " " + words[i+2]
			}
			if !strings.Contains(" "+strings.Join(written, " ")+" ", " "+word+" ") &&
				(strings.Contains(word, "=") || strings.HasPrefix(word, "-")) {
				t.Errorf("example %d: %s is not written:\n%s", n, word, d.Text())
			}
		}
	}
}
