package launch_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/published"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

// back returns the setup that a written file is read as; machine and stack, which it does not
// carry, are those that it was written from.
func back(t testing.TB, d *launch.Document, s *engine.Setup) (engine.Setup, launch.Reading) {
	t.Helper()
	r, ok := launch.Read(d.File, d.Text())
	if !ok || r.Launcher != d.Launcher {
		t.Fatalf("read as %q: %s", r.Launcher, d.Text())
	}
	flat := r.Flat(presets.Default())
	// which the reader is given
	if slices.ContainsFunc(d.NotCarried, func(n launch.NotCarried) bool {
		return n.Key == "model" || n.Key == "set"
	}) {
		flat["model"] = s.Model
		r.Problems = slices.DeleteFunc(r.Problems, func(p launch.Problem) bool { return p.Key == "recipe" })
	}
	if len(r.Problems) > 0 {
		t.Fatalf("%+v\n%s", r.Problems, d.Text())
	}
	return resolved(t, flat, s), r
}

// resolved returns the setup of keys that a file gives, on the machine and stack of another.
func resolved(t testing.TB, flat map[string]any, s *engine.Setup) engine.Setup {
	t.Helper()
	text, err := json.Marshal(flat)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := setupdoc.Parse("", text)
	if _, no := presets.Default().Cluster(s.Cluster.ID); err == nil && no == nil {
		err = doc.Set("cluster", s.Cluster.ID)
	} else if err == nil {
		err = doc.Set("gpu", s.Cluster.GPU.ID)
	}
	if err == nil {
		err = doc.Set("calibration", string(s.Stack))
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := doc.Setup(presets.Default())
	if err != nil {
		t.Fatalf("%v\n%v", err, flat)
	}
	return got
}

// canonical writes what may be said in several ways in one.
func canonical(s engine.Setup) engine.Setup {
	if stages, err := s.StagesOfStack(nil, nil); err == nil {
		var layers []string
		for _, st := range stages {
			layers = append(layers, fmt.Sprint(st.Layers()))
		}
		s.Split = strings.Join(layers, ",")
	}
	if c := s.Cluster.Calibration; c != nil {
		s.Software = c.For(s.Stack).Run(&s.Software)
	}
	s.Software = s.Or(recipe.Software{
		Dispatcher: recipe.AllToAll, EPOverlap: recipe.Off,
		TPOverlap: recipe.TPPlain, CUDAGraphs: recipe.GraphsNone, Attending: recipe.Attention16,
		DPOverlap: recipe.Off, GroupedMLP: recipe.GroupedLoop, Overlap: recipe.OverlapAssumed,
	})
	if !s.Model.IsMoE() {
		s.Dispatcher, s.EPOverlap, s.GroupedMLP = "", "", ""
	}
	if s.TP == 1 {
		s.TPOverlap = ""
	}
	if !s.Precision.Narrow() {
		s.Attending = ""
	}
	s.Precision, s.Loss, s.HSDP = s.Precision.On(s.Stack), s.LossKernel(), s.Replicas()
	m := &s.Model
	if m.Family == "Llama-3" { // of which a file says what a preset leaves to its family
		if m.RopeTheta == 0 {
			m.RopeTheta = 500000
		}
		if m.RopeScaling == "" && m.MaxSeq > 8192 {
			m.RopeScaling, m.RopeFactor = "llama3", 8
			if strings.HasPrefix(m.ID, "llama3.2-") {
				m.RopeFactor = 32
			}
		}
	}
	if m.ID == "deepseek-v3" { // of which a file says it too
		m.NormEps = cmp.Or(m.NormEps, 1e-6)
	}
	m.ID, m.Name, m.Family, m.Attention, m.ExtraParamsWhat, m.SharedExperts = "", "", "", "", "", 0
	m.Position = strings.TrimSuffix(m.Position, " (assumed)")
	if m.IsMLA() {
		m.KVHeads, m.HeadDim = 0, 0
	}
	m.MoEFreq = max(m.MoEFreq, 1)
	return s
}

// compare says where two setups differ in what a file carries.
func compare(a, b engine.Setup, d *launch.Document) (out []string) {
	a, b = canonical(a), canonical(b)
	lost := map[string]bool{"nodes": true} // of the machine
	for _, n := range d.NotCarried {
		lost[n.Key] = true
	}
	for _, k := range knob.All() {
		key := strings.ReplaceAll(string(k.ID), "-", "_")
		if x, y := k.Text(a), k.Text(b); !lost[key] && x != y {
			out = append(out, fmt.Sprintf("%s: %s, read as %s", key, x, y))
		}
	}
	x, y := reflect.ValueOf(a.Model), reflect.ValueOf(b.Model)
	for i := range x.NumField() {
		key, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
		if !lost["set.model."+key] && !lost["model"] && !lost["set"] &&
			x.Field(i).Interface() != y.Field(i).Interface() {
			out = append(out, fmt.Sprintf("model.%s: %v, read as %v", key, x.Field(i), y.Field(i)))
		}
	}
	return out
}

// roundTrip writes and reads a setup, unless the launcher refuses it.
func roundTrip(t *testing.T, l *launch.Launcher, s engine.Setup, name string) bool {
	t.Helper()
	d, refused := l.Export(&s, "test")
	if len(refused) > 0 {
		return false
	}
	got, _ := back(t, d, &s)
	list := compare(s, got, d)
	if len(list) > 0 && s.Model.RopeScaling == "" { // the writer takes the family's
		got.Model.RopeScaling, got.Model.RopeFactor = "", 0
		list = compare(s, got, d)
	}
	if len(list) > 0 {
		t.Errorf("%s: %v\n%s", name, list, d.Text())
	}
	return true
}

// TestPublishedRoundTrip: every published layout that a launcher can express comes back.
func TestPublishedRoundTrip(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"megatron", "bridge"} {
		l, _ := launch.Find(id)
		seen, all := 0, 0
		var done []engine.Setup
		for _, g := range groups {
			for _, run := range g.Runs {
				if !engine.Legal(run.Setup) || slices.Contains(done, run.Setup) {
					continue
				}
				done = append(done, run.Setup)
				if all++; !draws.Deep() && all%8 > 0 { // all of them in a deep run
					continue
				}
				if roundTrip(t, l, run.Setup, run.ID) {
					seen++
				}
			}
		}
		t.Logf("%s: %d of %d published layouts", id, seen, all)
		if least := 150; seen < least {
			t.Errorf("%s expresses only %d published layouts, want %d", id, seen, least)
		}
	}
}

// TestFitNoteRoundTrip: a file that says that its layout does not fit, or is tight, reads back as any other.
// That of DeepSpeed is JSON, which has no comments.
func TestFitNoteRoundTrip(t *testing.T) {
	for _, l := range launch.Launchers() {
		seen := map[engine.Fit]bool{}
		for _, keys := range []string{
			`{"model":"llama3.1-70b","gpus":8,"gbs":64,"tp":8,"sp":false}`,
			`{"model":"llama3.1-70b","gpus":8,"gbs":64,"dp":8,"sp":false,"zero":2}`,
			`{"model":"llama3.1-70b","gpus":8,"gbs":64,"dp":8,"sp":false,"zero":3,"recompute":"full"}`,
			`{"model":"llama3.1-8b","gpus":8,"gbs":64,"tp":4,"mbs":4,"sp":false,"recompute":"none"}`,
			`{"model":"llama3.1-8b","gpus":8,"gbs":64,"dp":8,"mbs":1,"zero":3,"recompute":"none"}`,
			`{"model":"llama3.2-3b","gpus":8,"gbs":64,"dp":8,"mbs":1,"zero":1,"recompute":"none"}`,
		} {
			flat := map[string]any{}
			if err := json.Unmarshal([]byte(keys), &flat); err != nil {
				t.Fatal(err)
			}
			s := presets.StartSetup()
			s.Stack = cmp.Or(l.Stack(), s.Stack)
			s = resolved(t, flat, &s)
			d, refused := l.Export(&s, "test")
			if len(refused) > 0 {
				continue
			}
			m := engine.Evaluate(s).Memory
			said := report.FitNote(m)
			if (len(said) == 0) != (m.Fit == engine.Fits) {
				t.Errorf("%s is %s, said is %q", keys, m.Fit, said)
			}
			plain, _ := launch.Read(d.File, d.Text())
			if d.Stamp = slices.Insert(d.Stamp, 2, said...); len(said) == 0 || d.Launcher == "deepspeed" {
				continue
			}
			seen[m.Fit] = true
			told, _ := launch.Read(d.File, d.Text())
			if !strings.Contains(string(d.Text()), "\n# "+said[0]+"\n") ||
				!reflect.DeepEqual(plain.Setup, told.Setup) || len(plain.Ignored) != len(told.Ignored) {
				t.Errorf("%s: %v\nread as %v\n%s", l.ID, plain, told, d.Text())
			}
		}
		if !seen[engine.Over] && l.ID != "deepspeed" {
			t.Errorf("%s has no layout that does not fit", l.ID)
		}
	}
}

// TestWeightsOnHostRoundTrip: DeepSpeed's file has no stack, and what it has on the host stays there, on the
// stack that has the gradients of the file.
func TestWeightsOnHostRoundTrip(t *testing.T) {
	l, _ := launch.Find("deepspeed")
	for _, stack := range []recipe.Stack{recipe.Transformers, recipe.DeepSpeed} {
		start := presets.StartSetup()
		start.Stack = stack
		s := resolved(t, map[string]any{
			"model": "llama3.1-8b", "gpus": 8, "gbs": 64, "zero": 3, "offload": "weights",
			"recompute": "none",
		}, &start)
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		r := launch.Open(d.File, d.Text(), presets.Default())
		r.Give("model", s.Model.ID)
		r.Give("seq", fmt.Sprint(s.Seq))
		got := r.Resolve(presets.Default())
		if got.Stack != stack || got.Offload != s.Offload || got.GradDtype != s.GradDtype ||
			engine.Evaluate(got).Memory.Peak != engine.Evaluate(s).Memory.Peak {
			t.Errorf("%s: read as %s with offload %s, gradients %s: %v", stack, got.Stack, got.Offload,
				got.GradDtype, r.Ignored)
		}
	}
}
