package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/ui/frame"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// TestOwnMachine: GPUs of a node and its bandwidth are typed into the list of machines; what cannot be read
// stays there with the reason, and one undo takes all back.
func TestOwnMachine(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := sample(t, size[0], size[1])
		m.options.Library = presets.Default()
		m.catalog = overlay.ReadCatalog(m.options.Library)
		before := m.state.Setup
		keys(m, "g")
		typeText(m, "gpus-per-node=4,node-bandwidth=100")
		if !strings.Contains(screenText(m), "enter changes this") {
			t.Errorf("nothing says what enter does:\n%s", screenText(m))
		}
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		if m.state.Setup != before || m.overlays.Empty() ||
			!strings.Contains(screenText(m), "100Gb/s, which is bits, or ") {
			t.Errorf("a rate without a unit:\n%s", screenText(m))
		}
		typeText(m, "Gb/s")
		_, cmd = m.Update(press("enter"))
		finishAll(m, cmd)
		c := m.state.Setup.Cluster
		if c.NodeGPUs != 4 || c.ScaleUpGPUs != 4 || c.Inter.Bandwidth != 3.125e9 ||
			c.Inter.Name != "100 Gb/s per node" || m.state.Setup.GPUs != before.GPUs {
			t.Errorf("%d GPUs a node of a domain of %d, %v: %s", c.NodeGPUs, c.ScaleUpGPUs, c.Inter,
				m.state.Note.Text)
		}
		keys(m, "u")
		if m.state.Setup != before {
			t.Error("undo does not take the machine back")
		}
	}
}

// TestOwnMachineNodes: nodes and the GPUs of each are one machine, whichever is typed first.
func TestOwnMachineNodes(t *testing.T) {
	for _, list := range []string{
		"nodes=12,gpus-per-node=4", "gpus-per-node=4,nodes=12", "gpu=a100-sxm-40g,nodes=12,gpus-per-node=4",
	} {
		m := sample(t, 120, 36)
		m.options.Library = presets.Default()
		m.catalog = overlay.ReadCatalog(m.options.Library)
		keys(m, "g")
		typeText(m, list)
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		s := m.state.Setup
		if s.GPUs != 48 || s.Nodes() != 12 || s.Cluster.NodeGPUs != 4 {
			t.Errorf("%s: %d GPUs in %d nodes of %d: %s", list, s.GPUs, s.Nodes(), s.Cluster.NodeGPUs,
				m.state.Note.Text)
		}
	}
}

// TestMachineRefused: a list of machines says in the list which figure is refused, what was given and what is
// allowed, and changes nothing.
func TestMachineRefused(t *testing.T) {
	for list, wants := range map[string][]string{
		"nodes=0,gpus-per-node=-4": {"nodes", `"0"`, "from 1 to"},
		"nodes=4,gpus-per-node=-4": {"gpus-per-node", "-4", "0 or more"},
	} {
		m := sample(t, 80, 24)
		m.options.Library = presets.Default()
		m.catalog = overlay.ReadCatalog(m.options.Library)
		before := m.state.Setup
		keys(m, "g")
		typeText(m, list)
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		for _, want := range wants {
			if !strings.Contains(screenText(m), want) {
				t.Errorf("%s: no %q:\n%s", list, want, screenText(m))
			}
		}
		if m.state.Setup != before {
			t.Errorf("%s changes the setup", list)
		}
	}
}

// TestMachineRows: the figures of a machine of one's own are rows: typed, turned and taken back like other
// knobs, said in the status, kept with the setup, and the machine stays when another model is chosen.
func TestMachineRows(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := sample(t, size[0], size[1])
		m.options.Library = presets.Default()
		m.catalog = overlay.ReadCatalog(m.options.Library)
		before := m.state.Setup
		m.do(state.Action{Verb: state.FocusKnob, ID: "gpus-per-node"})
		for _, want := range []string{
			"GPUs per node", "node network", "3200Gb/s", "GPU network", "400Gb/s",
			"Fits with",
		} {
			if !strings.Contains(screenText(m), want) {
				t.Errorf("%v: no %q:\n%s", size, want, screenText(m))
			}
		}
		keys(m, "left")
		if !strings.Contains(screenText(m), "GPUs per node 8 → 4, nodes 8 → 16") {
			t.Errorf("%v: the nodes that follow are not said:\n%s", size, screenText(m))
		}
		keys(m, "down")
		if c := m.state.Setup.Cluster; m.state.Focus != "node-bandwidth" || c.NodeGPUs != 4 ||
			c.ScaleUpGPUs != 4 || m.state.Setup.GPUs != before.GPUs {
			t.Errorf("left on GPUs per node: focus %s, %d of %d", m.state.Focus, c.NodeGPUs, c.ScaleUpGPUs)
		}
		typeText(m, "100") // in the unit of the values of the row, which is said before it is taken
		if !strings.Contains(screenText(m), "100 = 100Gb/s") {
			t.Errorf("a rate without a unit:\n%s", screenText(m))
		}
		keys(m, "enter")
		own := m.state.Setup
		if c := own.Cluster; c.Inter.Bandwidth != 3.125e9 || c.Inter.Name != "100 Gb/s per node" ||
			!strings.Contains(m.state.Note.Text, "node network 1600Gb/s → 100Gb/s") {
			t.Errorf("100Gb/s: %+v, %q", c.Inter, m.state.Note.Text)
		}
		if words := state.FixedWords(m.state.Fixed, &own); words != "GPUs per node 4, node network 100Gb/s" {
			t.Errorf("fixed: %q", words)
		}
		share, ok := setupdoc.Share(own, m.options.Library, m.options.Library)
		if d, err := setupdoc.Shared(share); !ok || err != nil {
			t.Error("no share string", err)
		} else if back, err := d.Setup(m.options.Library); err != nil || back != own {
			t.Errorf("the share string gives %+v, %v", back.Cluster.Inter, err)
		}
		other, err := m.options.Library.Model("llama3.1-8b")
		if err != nil {
			t.Fatal(err)
		}
		draft, _ := state.Again(&m.state, state.Action{Verb: state.UseModel, Model: &other})
		if next, err := draft.Resolve(); err != nil || next.Cluster != own.Cluster ||
			next.Model.ID != other.ID {
			t.Errorf("m: %+v, %v", next.Cluster, err)
		}
		keys(m, "right")
		if m.state.Setup.Cluster.Inter.Bandwidth != 6.25e9 {
			t.Errorf("right gives %+v", m.state.Setup.Cluster.Inter)
		}
		keys(m, "u", "u", "u")
		if m.state.Setup != before {
			t.Errorf("undo does not take the machine back: %+v", m.state.Setup.Cluster)
		}
	}
}

// TestRowsStay: where the cursor goes down and up again no row of the list appears or goes between others,
// and each step goes to the next line that is drawn.
func TestRowsStay(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := sample(t, size[0], size[1])
		m.do(state.Action{Verb: state.FocusKnob, ID: knob.Nodes})
		order := knobs.Order(&m.state.Setup)
		at := func() (rows []knob.ID) {
			for _, h := range m.column(frame.Layout(m.caps.Width, m.caps.Height, m.content()).Knobs).Hits {
				if h.Value == "" {
					rows = append(rows, h.ID)
				}
			}
			return rows
		}
		for _, key := range []string{"down", "up"} {
			for range len(order) - 1 {
				keys(m, key)
				rows := at()
				if i := slices.Index(order, rows[0]); !slices.Equal(rows, order[i:i+len(rows)]) ||
					!slices.Contains(rows, m.state.Focus) {
					t.Fatalf("%v: %s to %s draws %v", size, key, m.state.Focus, rows)
				}
			}
		}
		if m.state.Focus != knob.Nodes {
			t.Errorf("%v: down and up again ends at %s", size, m.state.Focus)
		}
	}
}

// typeText types a text letter by letter.
func typeText(m *Model, text string) {
	for _, r := range text {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// TestMachineOfName: the first hit for a name of a GPU is the node that --gpu takes for it.
func TestMachineOfName(t *testing.T) {
	l := presets.Default()
	for _, name := range []string{"b200", "b200-sxm", "h200", "h800", "gb200", "mi300x"} {
		m := sample(t, 120, 36)
		m.options.Library = l
		m.catalog = overlay.ReadCatalog(l)
		keys(m, "g")
		typeText(m, name)
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		g, err := l.GPU(name)
		if want := l.NodeOf(g); err != nil || m.state.Setup.Cluster.ID != want.ID {
			t.Errorf("%s: %s, not %s: %v", name, m.state.Setup.Cluster.ID, want.ID, err)
		}
	}
}

// TestMachineBegins: fields may follow the id of a cluster or a GPU, as they do gpu= and cluster=.
func TestMachineBegins(t *testing.T) {
	for _, c := range [][2]string{
		{"a100-sxm-40g,gpus-per-node=4,node-bandwidth=100Gb/s", "gpu="},
		{"b200,gpus-per-node=4", "gpu="},
		{"dgx-a100,gpus-per-node=4", "cluster="},
	} {
		var got []string
		for _, text := range []string{c[0], c[1] + c[0]} {
			m := sample(t, 120, 36)
			m.options.Library = presets.Default()
			m.catalog = overlay.ReadCatalog(m.options.Library)
			keys(m, "g")
			typeText(m, text)
			_, cmd := m.Update(press("enter"))
			finishAll(m, cmd)
			got = append(got, m.state.Setup.Cluster.Name)
			if m.state.Setup.Cluster.NodeGPUs != 4 || !m.overlays.Empty() {
				t.Errorf("%s:\n%s", text, screenText(m))
			}
		}
		if got[0] != got[1] {
			t.Errorf("%s: %q", c[0], got)
		}
	}
}
