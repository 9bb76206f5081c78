package ui

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// TestPalette: the list of keys leads to every screen, every knob and every word
// of the glossary, from any screen, by typing its name.
func TestPalette(t *testing.T) {
	typed := func(m *Model, text string) {
		keys(m, ":")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		keys(m, "enter")
	}
	for tab := range tabs {
		m := sample(t, 80, 24)
		typed(m, strings.ToLower(tabName(tab))+" screen")
		if m.state.Tab != tab || !m.overlays.Empty() {
			t.Errorf("%s: on %s with overlay %q", tabName(tab), tabName(m.state.Tab), m.overlays.ID())
		}
		checkFrame(t, m)
	}
	for _, id := range knobs.Order(&sample(t, 80, 24).state.Setup) {
		m := sample(t, 80, 24)
		m.do(state.Action{Verb: state.GoTab, N: int(MemoryTab)})
		typed(m, "--"+string(id))
		if m.state.Tab != MemoryTab || m.state.Focus != id {
			t.Errorf("--%s: on %s at %s", id, tabName(m.state.Tab), m.state.Focus)
		}
	}
	for text, want := range map[string]string{
		"word causal": "causal", "word zero": "ZeRO",
		"driver context": "overhead",
	} {
		m := sample(t, 80, 24)
		typed(m, text)
		if got := screenText(m); m.overlays.Len() != 2 || m.overlays.Top().(*overlay.Card).Name != want {
			t.Errorf("%q does not lead to %s:\n%s", text, want, got)
		}
	}
	for _, text := range []string{"zero", "mem", "causal"} {
		m := sample(t, 80, 24)
		keys(m, ":")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		if got := screenText(m); strings.Contains(got, "nothing matches") ||
			text == "mem" && !strings.Contains(got, "Memory screen") {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

// TestPaletteKnowsEverything: what people type leads to the right place first: a knob before the
// word for it, actions of other screens, models, clusters, figures, and other names for them.
func TestPaletteKnowsEverything(t *testing.T) {
	for i, c := range []struct {
		typed string
		there func(m *Model) bool
	}{
		{"tp", func(m *Model) bool { return m.state.Focus == "tp" && m.overlays.Empty() }},
		{"zero", func(m *Model) bool { return m.state.Focus == "zero" && m.overlays.Empty() }},
		{
			"imbalance",
			func(m *Model) bool { return m.state.Focus == "split" || m.screen().Name() == "Pipeline" },
		},
		{
			"bubble",
			func(m *Model) bool { return m.state.Focus == "schedule" || m.screen().Name() == "Pipeline" },
		},
		{"nvme", func(m *Model) bool { return m.state.Focus == "offload" && m.overlays.Empty() }},
		{"adafactor", func(m *Model) bool { return m.state.Focus == "optimizer" && m.overlays.Empty() }},
		{"oom", func(m *Model) bool { return m.overlays.ID() == overlay.AdviceID }},
		{"days", func(m *Model) bool { return m.overlays.ID() == overlay.RunID }},
		{
			"cost",
			func(m *Model) bool {
				return m.overlays.ID() == overlay.RunID || m.overlays.ID() == overlay.ReportID
			},
		},
		{"launch", func(m *Model) bool {
			return m.overlays.ID() == overlay.ExportID && strings.Contains(screenText(m), "EXPORT")
		}},
		{
			"guide",
			func(m *Model) bool {
				return m.overlays.ID() == overlay.AdviceID || m.screen().Name() == "Search"
			},
		},
		{
			"critical path",
			func(m *Model) bool { return m.screen().Name() == "Pipeline" && m.overlays.Empty() },
		},
		{"qwen3-32b", func(m *Model) bool { return m.state.Setup.Model.ID == "qwen3-32b" }},
		{"dgx-b200", func(m *Model) bool { return m.state.Setup.Cluster.ID == "dgx-b200" }},
		{"throughput.mfu", func(m *Model) bool { return m.overlays.ID() == overlay.ExplainID }},
	} {
		keys := [][]string{{":", "?"}, {"?", ":"}}[i%2]
		for _, key := range draws.Some(1, keys...) {
			m := live(t, 100, 30)
			m.options.Export = func(report.Format, *report.Evaluation) (string, error) { return "", nil }
			m.do(state.Action{Verb: state.GoTab, N: int(MemoryTab)})
			finishAll(m, m.handleKey(press(key)))
			for _, r := range c.typed {
				name := string(r)
				if name == " " {
					name = "space"
				}
				m.Update(press(name))
			}
			shown := screenText(m)
			_, cmd := m.Update(press("enter"))
			finishAll(m, cmd)
			if !c.there(m) {
				t.Errorf("%q leads to %s at %s, overlay %q:\n%s", c.typed, m.screen().Name(), m.state.Focus,
					m.overlays.ID(), shown)
			}
			m.overlays.Clear()
		}
	}
}

// TestGuestNamesNoFile: where the library opens no file, as for a guest of a server, a path is a name that no
// model has.
func TestGuestNamesNoFile(t *testing.T) {
	m := sample(t, 120, 36)
	m.catalog = overlay.ReadCatalog(m.options.Library)
	keys(m, "m")
	send(m, tea.PasteMsg{Content: "/etc/passwd"})
	if shown := screenText(m); !strings.Contains(shown, "filter /etc/passwd") ||
		strings.Contains(shown, "reads this file") {
		t.Errorf("\n%s", shown)
	}
}

// TestModelByPath: a path that is typed into the list of models reads the file; one that cannot be
// read stays there with the reason, until it is edited.
func TestModelByPath(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) {
		o.Library = presets.Default().ReadingModels(func(name string) ([]byte, error) {
			if name != "/models/mine/config.json" {
				return nil, fs.ErrNotExist
			}
			return []byte(
				`{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true}`,
			), nil
		})
	})
	for path, want := range map[string]string{"/models/mine/config.json": "16", "/no/config.json": "80"} {
		m.catalog = overlay.ReadCatalog(m.options.Library)
		keys(m, "m")
		send(m, tea.PasteMsg{Content: path})
		if !strings.Contains(screenText(m), "enter reads this file") {
			t.Errorf("%s:\n%s", path, screenText(m))
		}
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		if got := strconv.Itoa(m.state.Setup.Model.Layers); got != want {
			t.Errorf("%s: %s layers, want %s: %s", path, got, want, m.state.Note.Text)
		}
		wrong := want == "80"
		if shown := screenText(m); m.overlays.Empty() == wrong ||
			wrong != (strings.Contains(shown, "there is no such file") &&
				strings.Contains(shown, "filter "+path)) {
			t.Errorf("%s:\n%s", path, shown)
		}
		if wrong {
			if keys(m, "backspace"); strings.Contains(screenText(m), "no such file") || m.overlays.Empty() {
				t.Errorf("%s, edited:\n%s", path, screenText(m))
			}
			m.overlays.Clear()
		}
		keys(m, "u")
	}
}

// TestCopiedIsShown: the whole command that was copied is on the screen, however narrow.
func TestCopiedIsShown(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 60}} {
		m := sample(t, size[0], size[1])
		finishAll(m, m.handleKey(press("y")))
		text := strings.Join(strings.Fields(strings.ReplaceAll(screenText(m), "│", "")), " ")
		if !strings.Contains(text, "meshscope --model llama3.1-70b") || !strings.Contains(text, "--gbs 512") {
			t.Errorf("%v:\n%s", size, screenText(m))
		}
	}
}

// TestNonsenseRunsNothing: words that nothing has run nothing and say so; short forms and slips still lead.
func TestNonsenseRunsNothing(t *testing.T) {
	for _, text := range []string{"nonsense", "blorp", "make tea", "hjkl", "zzzqqq"} {
		m := sample(t, 120, 36)
		before := m.state.Setup
		keys(m, "?")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		keys(m, "enter")
		if m.overlays.Len() != 1 || m.state.Setup != before ||
			!strings.Contains(screenText(m), "nothing matches") {
			t.Errorf("%q runs something:\n%s", text, screenText(m))
		}
	}
	for text, want := range map[string]string{
		"pipline": "pipeline", "schdule": "schedule", "glbatch": "global batch",
	} {
		m := sample(t, 120, 36)
		keys(m, "?")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		if got := screenText(m); !strings.Contains(got, want) {
			t.Errorf("%q finds no %s:\n%s", text, want, got)
		}
	}
}

// TestListOfKeysIsGrouped: every key of the program has a group, each group is named once in the order
// of all, what can be done now comes first in it, and a filter shows the ten best and how many there are.
func TestListOfKeysIsGrouped(t *testing.T) {
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 200}} {
		m := sample(t, size.Width, size.Height)
		for _, k := range m.programKeys() {
			if k.Group == "" {
				t.Errorf("%s has no group", k.Help)
			}
		}
		entries := m.keyEntries()
		for i := 1; i < len(entries); i++ {
			a, b := entries[i-1], entries[i]
			before, after := slices.Index(screen.Groups(), a.Group), slices.Index(screen.Groups(), b.Group)
			if before > after || before == after && a.Off != "" && b.Off == "" {
				t.Errorf("%s (%s, %s) comes before %s (%s, %s)", a.Help, a.Group, a.Off,
					b.Help, b.Group, b.Off)
			}
		}
		keys(m, "?")
		text := screenText(m)
		for _, group := range screen.Groups()[1:3] {
			if n := strings.Count(text, " "+string(group)+"  "); n != 1 {
				t.Errorf("%d x %d names %s %d times:\n%s", size.Width, size.Height, group, n, text)
			}
		}
		keys(m, "e")
		if text := screenText(m); !strings.Contains(text, "best 10 of ") ||
			!strings.Contains(text, "explain a figure") {
			t.Errorf("typed e:\n%s", text)
		}
		keys(m, "end") // past the best: the last of the others
		if text := screenText(m); strings.Contains(text, "best 10 of ") || strings.Contains(text, "▼") {
			t.Errorf("scrolled to the end:\n%s", text)
		}
	}
}
