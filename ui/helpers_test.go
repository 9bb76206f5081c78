package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
)

// The screens by their places in the row of tabs; TestTabs looks that they are.
const (
	MemoryTab state.Tab = iota + 1
	PipelineTab
	NetworkTab
	SearchTab
	CompareTab
	ScanTab
	EvidenceTab
	tabs
)

// tabName is the name of a screen.
func tabName(t state.Tab) string {
	return [tabs]string{
		"Explore", "Memory", "Pipeline", "Network", "Search", "Compare", "Scan",
		"Evidence",
	}[t]
}

// plain is an evaluation with round figures in place of the engine's: frames
// are about what is drawn where, and must not change when a prediction gets
// better. Legality and the pipeline are the engine's own.
func plain(s engine.Setup) engine.Report {
	r := engine.Report{
		Problems:    engine.Check(s),
		Assumptions: []string{"step time is not fitted to any run", "the figures are round ones, for tests"},
		NotModelled: []string{"everything else"},
	}
	if r.Legal = len(state.Errors(r.Problems)) == 0; !r.Legal {
		return r
	}
	parameters := float64(s.Model.Total()) / float64(s.TP*s.PP)
	m := &engine.Memory{Capacity: 80 * units.GB, Usable: s.Cluster.GPU.MemoryUsable}
	for i := range s.PP {
		rank := engine.RankMemory{
			Rank: i, Layers: s.Model.Layers / s.PP, Parameters: parameters, InFlight: float64(s.PP - i),
			Weights: units.Bytes(2 * parameters), Gradients: units.Bytes(4 * parameters),
			Optimizer:   units.Bytes(12 * parameters / float64(s.DP)),
			Activations: units.GiB * units.Bytes(float64(s.PP-i)*10/float64(s.PP)),
			Buffers:     units.GiB / 2, Overhead: 2 * units.GiB,
		}
		if i == s.PP-1 {
			rank.Logits = units.GiB
		}
		rank.Allocated = rank.Weights + rank.Gradients + rank.Optimizer + rank.Activations + rank.Logits +
			rank.Buffers
		rank.Total = rank.Allocated + rank.Overhead
		if rank.Total > m.Peak {
			m.Peak, m.PeakRank = rank.Total, i
		}
		m.Ranks = append(m.Ranks, rank)
	}
	m.Evidence = engine.Evidence{
		ErrorBand: 0.09, TypicalError: 0.02, ValidatedBy: "first-table",
		Nearest: engine.NearestRuns{
			Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
			Off: 0.03,
		}, Runs: 12,
	}
	m.Fits, m.Fit = m.Peak <= m.Usable, engine.FitWithin(m.Peak, m.Usable, m.ErrorBand)
	r.Memory = m
	r.Pipeline, r.Timeline = plainPipeline(s)
	work := units.Seconds(20)
	bubble := work * units.Seconds(r.Pipeline.BubbleOverIdeal)
	r.Time = &engine.Time{
		Compute: work, Bubble: bubble, Exposed: 3, Optimizer: 0.5,
		Step: work + bubble + 3.5, Evidence: engine.Evidence{
			ErrorBand: 0.18, TypicalError: 0.04,
			ValidatedBy: "first-table",
			Nearest: engine.NearestRuns{
				Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
				Off: 0.03,
			}, Runs: 12,
		},
	}
	mfu := 0.5 * float64(work/r.Time.Step)
	r.Throughput = &engine.Throughput{
		TokensPerSecond: 64_000 * mfu, TokensPerSecondPerGPU: 1000 * mfu, ModelTFLOPSPerGPU: 989 * mfu,
		MFU: mfu, HFU: mfu, Evidence: r.Time.Evidence,
	}
	r.Model = &engine.ModelFigures{
		Parameters:       float64(s.Model.Total()),
		ActiveParameters: float64(s.Model.Active()), TrainingFLOPs: 6 * float64(s.Model.Active()),
		Convention: string(s.MFU),
	}
	r.Communication = []engine.Communication{
		{
			Dimension: "tp", Operation: "all-gather + reduce-scatter", GroupSize: s.TP, Spans: "node",
			Bytes: 6 * 1000 * units.GB, Seconds: 8, Exposed: 2,
		},
		{
			Dimension: "dp", Operation: "reduce-scatter + all-gather", GroupSize: s.DP, Spans: "cluster",
			Bytes: 20 * units.GB, Seconds: 1.5, Exposed: 1,
		},
	}
	return r
}

func plainPipeline(s engine.Setup) (*engine.Pipeline, *schedule.Timeline) {
	spec := s.Spec()
	p := &engine.Pipeline{Schedule: s.Schedule, Ranks: s.PP, Stages: s.Stages(), MicroBatches: s.MicroBatches}
	order, err := schedule.Build(spec)
	if err != nil {
		return p, nil
	}
	times := schedule.ChunkTimes{F: 1, B: 2}
	line, err := schedule.Simulate(order, schedule.UniformCosts(spec, times, 0))
	if err != nil {
		return p, nil
	}
	p.BubbleOverIdeal, p.BubbleOverTotal, p.Makespan = line.BubbleOverIdeal(), line.BubbleOverTotal(),
		line.Duration()
	if form, ok := spec.ClosedFormBubble(times); ok {
		p.BubbleClosedForm = &form
	}
	return p, line
}

// sample is a model of a terminal with the built-in start setup.
func sample(t testing.TB, w, h int, change ...func(*Options)) *Model {
	t.Helper()
	o := Options{
		Setup: presets.DefaultSetup(), Evaluate: plain, Calm: true,
		Env: []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"},
	}
	for _, c := range change {
		c(&o)
	}
	m := New(o)
	send(m, tea.ColorProfileMsg{Profile: colorprofile.ANSI256}, tea.WindowSizeMsg{Width: w, Height: h})
	finishWork(m)
	return m
}

// send hands messages to the model; commands are not run.
func send(m *Model, msgs ...tea.Msg) {
	for _, msg := range msgs {
		m.Update(msg)
	}
}

// finishWork computes the chart, as the command in the background would.
func finishWork(m *Model) {
	msg := sweptMsg{generation: m.sweep.generation, id: m.state.Focus, Swept: explore.Swept{Current: -1}}
	for _, step := range knob.Steps(m.state.Setup, m.state.Focus, m.state.Locks) {
		if step.Current {
			msg.Current = len(msg.Points)
		}
		p := explore.PointOf(m.options.Evaluate(step.Setup))
		p.Text = step.Text
		msg.Points = append(msg.Points, p)
	}
	m.Update(msg)
}

// keys presses keys by their names ("right", "T", "ctrl+r") and finishes the work.
func keys(m *Model, names ...string) {
	for _, name := range names {
		m.Update(press(name))
	}
	finishWork(m)
}

func press(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace,
		"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"space": tea.KeySpace,
	}
	var mod tea.KeyMod
	rest := name
	for prefix, m := range map[string]tea.KeyMod{
		"ctrl+": tea.ModCtrl, "shift+": tea.ModShift,
		"alt+": tea.ModAlt,
	} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			rest, mod = after, mod|m
		}
	}
	if code, ok := codes[rest]; ok {
		return tea.KeyPressMsg{Code: code, Mod: mod}
	}
	r := []rune(rest)[0]
	if mod != 0 {
		return tea.KeyPressMsg{Code: r, Mod: mod}
	}
	return tea.KeyPressMsg{Code: r, Text: rest}
}

// screen is the frame without colours, right blanks cut.
func screenText(m *Model) string {
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// page is the frame without colours and without what names other screens: the line
// of tabs and the last line.
func page(m *Model) string {
	lines := strings.Split(strings.TrimSuffix(screenText(m), "\n"), "\n")
	lines = slices.DeleteFunc(lines[:len(lines)-1], func(line string) bool {
		return strings.Contains(line, "["+m.screen().Name()+"]")
	})
	return strings.Join(lines, "\n") + "\n"
}

// model is a setup with another model and cluster of the library.
func setupOf(t testing.TB, modelID, clusterID string, given knob.Given) engine.Setup {
	t.Helper()
	m, err := presets.Default().Model(modelID)
	if err != nil {
		t.Fatal(err)
	}
	c, err := presets.Default().Cluster(clusterID)
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
