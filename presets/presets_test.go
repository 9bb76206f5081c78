package presets_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/units"
	"meshscope/presets"
)

func TestEveryBuiltInPresetIsSound(t *testing.T) {
	l := presets.Default()
	_, errs := presets.Load(presets.BuiltInFiles(), nil)
	for _, err := range errs {
		t.Error(err)
	}
	models, gpus, clusters := l.Models(), l.GPUs(), l.Clusters()
	if len(models) < 107 || len(gpus) < 30 || len(clusters) < 40 {
		t.Errorf("%d models, %d GPUs, %d clusters", len(models), len(gpus), len(clusters))
	}
	for _, m := range models {
		if err := m.Check().Err(); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if m.Source == "" {
			t.Errorf("%s has no source", m.ID)
		}
		var letters []byte
		for i := range m.Layers {
			letters = append(letters, m.Letter(i))
		}
		if short := model.Period(string(letters)); m.Pattern != "" && m.Pattern != short {
			t.Errorf("%s: layer_pattern %s is not as files are read, %s", m.ID, m.Pattern, short)
		}
	}
	for _, g := range gpus {
		if g.PeakBF16 == 0 && g.PeakFP16 == 0 || g.MemoryUsable > g.MemoryNominal*1.001 ||
			g.MemoryUsable < g.MemoryNominal*0.9 {
			t.Errorf("%s: peaks %g and %g, %.2f of %.2f GiB", g.ID, g.PeakBF16, g.PeakFP16,
				g.MemoryUsable.GiB(), g.MemoryNominal.GiB())
		}
		if _, err := l.Cluster(g.TypicalCluster); err != nil {
			t.Errorf("%s: typical cluster: %v", g.ID, err)
		}
		wholeCluster(t, l.NodeOf(g.GPU))
	}
	for _, c := range clusters {
		wholeCluster(t, c.Cluster)
		if c.LatencySource == "" {
			t.Errorf("%s: latencies without a source", c.ID)
		}
		if c.ScaleUpGPUs < c.NodeGPUs {
			t.Errorf("%s: a node of %d GPUs, a scale-up domain of %d", c.ID, c.NodeGPUs, c.ScaleUpGPUs)
		}
	}
}

// wholeCluster checks what the engine needs of any cluster.
func wholeCluster(t *testing.T, c hardware.Cluster) {
	t.Helper()
	if c.ID == "" || c.Name == "" || c.GPU.ID == "" || c.NodeGPUs < 1 || c.ScaleUpGPUs < 1 {
		t.Errorf("%s is incomplete: %+v", c.ID, c)
	}
	if c.Intra.Bandwidth <= 0 || c.Intra.Latency <= 0 || c.Intra.Name == "" {
		t.Errorf("%s: link inside the node %+v", c.ID, c.Intra)
	}
	if c.Inter.Bandwidth > 0 && c.Inter.Latency <= 0 {
		t.Errorf("%s: link between nodes %+v", c.ID, c.Inter)
	}
}

func TestLookup(t *testing.T) {
	l := presets.Default()
	for _, id := range []string{"llama3.1-70b", "LLAMA3.1-70B", "Llama3.1-70b"} {
		m, err := l.Model(id)
		if err != nil || m.ID != "llama3.1-70b" || m.Total() != 70_553_706_496 {
			t.Errorf("%s: %s with %d parameters, %v", id, m.ID, m.Total(), err)
		}
	}
	g, err := l.GPU("H100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	if g.PeakBF16 != 989*units.TFLOPS || g.MemoryNominal != 80*units.GiB ||
		g.MemoryUsable != 79.1*units.GiB || g.MemoryBandwidth != 3.35e12 {
		t.Errorf("%+v", g)
	}
	c, err := l.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	if c.GPU != g || c.NodeGPUs != 8 || c.Intra.Bandwidth != 450e9 || c.Inter.Bandwidth != 50e9 ||
		c.Inter.Latency != 0.5*units.Microsecond {
		t.Errorf("%+v", c)
	}
	if p, err := l.ClusterPreset("dgx-h100"); err != nil || len(p.AllReduce) != 2 ||
		p.AllReduce[1] != (presets.BusBandwidth{Nodes: 4, Bandwidth: 370e9}) {
		t.Errorf("%+v, %v", p.AllReduce, err)
	}
}

func TestUnknownNamesTheClosest(t *testing.T) {
	l := presets.Default()
	for _, c := range []struct{ kind, id, want string }{
		{"model", "lama3.1-405b", "llama3.1-405b"},
		{"model", "gpt-oss", "gpt-oss-20b"},
		{"GPU", "h100", "h100-sxm"},
		{"GPU", "h100sxm5", "h100-sxm"},
		{"GPU", "a100", "a100-sxm-80g"},
		{"GPU", "a100-40gb", "a100-pcie-40g"},
		{"GPU", "h200x", "h200-sxm"},
		{"cluster", "dgx-h10", "dgx-h100"},
		{"cluster", "meta-roce", "meta-roce-24k"},
		{"model", "../gpus/h100-sxm", ""},
		{"model", "", ""},
		{"model", strings.Repeat("x", 1e6), ""},
		{"model", "\x1b[31m", ""},
		{"model", "qqqqq", ""},
		{"GPU", "nowhere", ""},
		{"cluster", "qqqqq", ""},
	} {
		var err error
		switch c.kind {
		case "model":
			_, err = l.Model(c.id)
		case "GPU":
			_, err = l.GPU(c.id)
		default:
			_, err = l.Cluster(c.id)
		}
		var unknown *presets.UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%q: %v", c.id, err)
			continue
		}
		if unknown.Kind != c.kind || unknown.ID != c.id || c.want == "" && len(unknown.Nearest) > 0 {
			t.Errorf("%q: %+v", c.id, unknown)
		}
		if lists := "' lists all"; c.want == "" && !strings.HasSuffix(err.Error(), lists) {
			t.Errorf("%q: no list in %v", c.id, err)
		}
		if of := map[string]string{
			"h100": "h100-sxm", "a100-40gb": "a100-sxm-40g", "h200x": "h200-sxm", "a100": "a100-sxm-40g",
		}[c.id]; of != "" && unknown.Nearest[0] != of {
			t.Errorf("%q: the closest of %v is not %s", c.id, unknown.Nearest, of)
		}
		if c.want != "" && !slices.Contains(unknown.Nearest, c.want) {
			t.Errorf("%q: closest %v, want %s among them", c.id, unknown.Nearest, c.want)
		}
		if message := err.Error(); len(message) > 400 || strings.ContainsRune(message, '\x1b') {
			t.Errorf("the message is not fit to print: %q", message)
		}
	}
}

func TestNodeOf(t *testing.T) {
	l := presets.Default()
	h100, err := l.GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	dgx, err := l.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	node := l.NodeOf(h100)
	if node.GPU != h100 || node.NodeGPUs != 8 || node.ScaleUpGPUs != 8 || node.Intra.Bandwidth != 450e9 ||
		node.Inter != dgx.Inter {
		t.Errorf("%+v", node)
	}
	own := hardware.GPU{
		ID: "mine", Name: "Mine", NodeGPUs: 4, ScaleUpGPUs: 4, LinkName: "wire",
		LinkBandwidth: 1e11,
	}
	wholeCluster(t, l.NodeOf(own))
	if node := l.NodeOf(own); node.NodeGPUs != 4 || node.Inter.Bandwidth != 50e9 {
		t.Errorf("a GPU that no preset knows: %+v", node)
	}
	if rack := l.NodeOf(mustGPU(t, l, "gb200")); rack.NodeGPUs != 4 || rack.ScaleUpGPUs != 72 {
		t.Errorf("%+v", rack)
	}
}

func mustGPU(t *testing.T, l *presets.Library, id string) hardware.GPU {
	t.Helper()
	g, err := l.GPU(id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestListsAreCopies(t *testing.T) {
	l := presets.Default()
	l.Models()[0].Layers = -1
	if l.Models()[0].Layers < 1 {
		t.Error("a caller can change the library")
	}
}

func TestConcurrentUse(t *testing.T) {
	l, errs := presets.Load(presets.BuiltInFiles(), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, c := range l.Clusters() {
				if _, err := l.GPU(c.GPU.ID); err != nil {
					t.Error(err)
				}
				_ = l.NodeOf(c.GPU)
			}
			if _, err := l.Model("deepseek-v3"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestNamesAsPeopleWriteThem: case and punctuation of an id do not count, and no two ids differ by them
// alone; a few models have another name.
func TestNamesAsPeopleWriteThem(t *testing.T) {
	l := presets.Default()
	for typed, want := range map[string]string{
		"llama-3.1-8b": "llama3.1-8b", "Llama-3-70B": "llama3-70b", "llama3.1 70b": "llama3.1-70b",
		"deepseekv3":  "deepseek-v3",
		"DeepSeek-R1": "deepseek-v3", "gpt_oss_20b": "gpt-oss-20b", "llama-65b": "llama1-65b",
	} {
		if m, err := l.Model(typed); err != nil || m.ID != want {
			t.Errorf("%s is %q, %v", typed, m.ID, err)
		}
	}
	plain := strings.NewReplacer("-", "", ".", "", "_", "")
	seen := map[string]string{}
	for _, m := range l.Models() {
		if other := seen[plain.Replace(m.ID)]; other != "" {
			t.Errorf("%s and %s", m.ID, other)
		}
		seen[plain.Replace(m.ID)] = m.ID
	}
	if g, err := l.GPU("h200"); err != nil || g.ID != "h200-sxm" { // there is no other
		t.Errorf("h200 is %q, %v", g.ID, err)
	}
	_, err := l.GPU("a100")
	var unknown *presets.UnknownError
	if !errors.As(err, &unknown) || !strings.HasPrefix(unknown.Nearest[0], "a100") {
		t.Errorf("a100: %v, want one of these first", err)
	}
}

// TestIDOfHub: OWNER/NAME is the model of that name where no file is, and proposes those like it.
func TestIDOfHub(t *testing.T) {
	files := presets.Default().ReadingModels(func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	for _, l := range []*presets.Library{presets.Default(), files} {
		for id, want := range map[string]string{
			"meta-llama/Llama-3.1-8B": "llama3.1-8b", "openai/gpt-oss-20b": "gpt-oss-20b",
			"deepseek-ai/DeepSeek-R1": "deepseek-v3",
			"xai-org/grok-1":          "grok-1", "huggyllama/llama-7b": "llama1-7b",
		} {
			if m, err := l.Model(id); err != nil || m.ID != want {
				t.Errorf("%s is %q, %v", id, m.ID, err)
			}
		}
		_, err := l.Model("meta-llama/Llama-3.1-8B-Instruct")
		if err == nil || !strings.HasSuffix(err.Error(), ": did you mean llama3.1-8b?") {
			t.Errorf("the nearest of the name: %v", err)
		}
		_, err = l.Model("ckpts/qwen3-8b")
		if err == nil || !strings.HasSuffix(err.Error(), ": did you mean qwen3-8b?") {
			t.Errorf("a folder that is not there: %v", err)
		}
	}
	paths := []string{"./qwen3-8b", "/qwen3-8b", "a/b/qwen3-8b", "a/qwen3-8b.toml", "a/", "ckpts/qwen3-8b"}
	for _, id := range paths {
		if m, err := files.Model(id); err == nil {
			t.Errorf("%s is %s", id, m.ID)
		}
	}
}
