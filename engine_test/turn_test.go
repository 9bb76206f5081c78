package engine_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

func locksOn() knob.Locks { return knob.Locks{GPUs: true, Batch: true} }

func startSetup(t testing.TB) engine.Setup {
	t.Helper()
	s, err := draftOf(t, "tp=8 pp=2 gbs=512").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTurnFollowers(t *testing.T) {
	type sizes struct{ gpus, dp, tp, pp, cp, mbs, m, gbs int }
	start := sizes{64, 4, 8, 2, 1, 1, 128, 512}
	tests := []struct {
		name  string
		id    knob.ID
		text  string
		locks knob.Locks
		want  sizes
	}{
		{"tp, GPUs kept, batch kept", "tp", "4", locksOn(), sizes{64, 8, 4, 2, 1, 1, 64, 512}},
		{"tp, GPUs kept, m kept", "tp", "4", knob.Locks{GPUs: true}, sizes{64, 8, 4, 2, 1, 1, 128, 1024}},
		{"tp, dp kept", "tp", "4", knob.Locks{Batch: true}, sizes{32, 4, 4, 2, 1, 1, 128, 512}},
		{"pp, GPUs kept", "pp", "4", locksOn(), sizes{64, 2, 8, 4, 1, 1, 256, 512}},
		{"cp, GPUs kept", "cp", "2", locksOn(), sizes{64, 2, 8, 2, 2, 1, 256, 512}},
		{"cp, dp kept", "cp", "2", knob.Locks{Batch: true}, sizes{128, 4, 8, 2, 2, 1, 128, 512}},
		{"dp moves the GPUs", "dp", "8", locksOn(), sizes{128, 8, 8, 2, 1, 1, 64, 512}},
		{"dp, m kept", "dp", "8", knob.Locks{GPUs: true}, sizes{128, 8, 8, 2, 1, 1, 128, 1024}},
		{"nodes move dp", "nodes", "16", locksOn(), sizes{128, 8, 8, 2, 1, 1, 64, 512}},
		{"gpus move dp", "gpus", "32", locksOn(), sizes{32, 2, 8, 2, 1, 1, 256, 512}},
		{"mbs, batch kept", "mbs", "4", locksOn(), sizes{64, 4, 8, 2, 1, 4, 32, 512}},
		{"mbs, m kept", "mbs", "4", knob.Locks{GPUs: true}, sizes{64, 4, 8, 2, 1, 4, 128, 2048}},
		{"m moves gbs", "microbatches", "64", locksOn(), sizes{64, 4, 8, 2, 1, 1, 64, 256}},
		{"gbs moves m", "gbs", "1024", locksOn(), sizes{64, 4, 8, 2, 1, 1, 256, 1024}},
		{"a degree that does not divide", "tp", "3", locksOn(), sizes{64, 10, 3, 2, 1, 1, 51, 512}},
		{"the value it has", "tp", "8", locksOn(), start},
		{"the nodes it has", "nodes", "8", locksOn(), start},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, err := knob.Turn(startSetup(t), tc.id, tc.text, tc.locks)
			if err != nil {
				t.Fatal(err)
			}
			if got := (sizes{s.GPUs, s.DP, s.TP, s.PP, s.CP, s.MBS, s.MicroBatches, s.GBS}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestTurnKeepsWhatBelongsTogether(t *testing.T) {
	s := startSetup(t)
	turn := func(s engine.Setup, id knob.ID, text string) engine.Setup {
		t.Helper()
		out, err := knob.Turn(s, id, text, locksOn())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := turn(s, "vpp", "4"); got.Schedule != schedule.Interleaved {
		t.Errorf("vpp 4 leaves schedule %s", got.Schedule)
	}
	if got := turn(turn(s, "vpp", "4"), "vpp", "1"); got != s {
		t.Error("vpp 4 and back is not the start")
	}
	if got := turn(s, "schedule", "interleaved"); got.VPP != 2 {
		t.Errorf("interleaved leaves vpp %d", got.VPP)
	}
	if got := turn(turn(s, "vpp", "4"), "schedule", "afab"); got.VPP != 1 {
		t.Errorf("afab leaves vpp %d", got.VPP)
	}
	if got := turn(s, "tp", "1"); got.SP {
		t.Error("tp 1 leaves sequence parallelism on")
	}
	if got := turn(turn(s, "sp", "off"), "tp", "4"); got.SP {
		t.Error("sequence parallelism that was switched off by hand comes back")
	}
}

func TestTurnRefuses(t *testing.T) {
	s := startSetup(t)
	tests := []struct {
		id   knob.ID
		text string
	}{
		{"tp", "0"},
		{"tp", "many"},
		{"nothing", "1"},
		{"microbatches", "1099511627776"}, // x dp 4 sequences
		{"dp", "1048576"},                 // x 16 is the most GPUs there may be
		{"dp", "1048577"},
	}
	for _, tc := range tests {
		got, err := knob.Turn(s, tc.id, tc.text, locksOn())
		if tc.id == "dp" && tc.text == "1048576" {
			if err != nil {
				t.Errorf("dp at its bound: %v", err)
			}
			continue
		}
		var value *knob.ValueError
		if !errors.As(err, &value) || got != s {
			t.Errorf("%s=%s: %v (changed: %v)", tc.id, tc.text, err, got != s)
		}
	}
}

// anySetup draws a setup that keeps both identities, legal or not.
func anySetup(t *rapid.T) engine.Setup {
	pick := func(label string, values ...int) int { return rapid.SampledFrom(values).Draw(t, label) }
	s := engine.Setup{Model: draftModel(), Cluster: draftCluster()}
	s.Layout = layout.Layout{
		DP: pick("dp", 1, 2, 3, 4, 6, 8, 16), TP: pick("tp", 1, 2, 4, 8), PP: pick("pp", 1, 2, 3, 4, 8),
		VPP: 1, CP: pick("cp", 1, 2, 4), EP: 1, ETP: 1, ZeRO: pick("zero", 0, 1, 2, 3), HSDP: 1,
		MBS: pick("mbs", 1, 2, 3, 4), MicroBatches: pick("m", 1, 2, 6, 8, 12, 32, 120),
		Seq: pick("seq", 512, 4096, 8192),
	}
	s.GPUs = s.DP * s.TP * s.PP * s.CP
	s.GBS = s.MBS * s.MicroBatches * s.DP
	s.SP = s.TP > 1
	s.Schedule, s.Precision, s.GradDtype = schedule.OneFOneB, recipe.BF16, recipe.GradFP32
	s.Attention, s.Optimizer = recipe.Flash, recipe.Adam
	s.Loss, s.Offload, s.Imbalance = recipe.FusedLoss, recipe.OffloadNone, recipe.EvenLoad
	s.Recompute.Mode = recipe.RecomputeNone
	s.Stack, s.MFU, s.Software = recipe.DefaultStack, recipe.MFUCausal, autoSoftware()
	return s
}

func anyLocks(t *rapid.T) knob.Locks {
	return knob.Locks{GPUs: rapid.Bool().Draw(t, "lock GPUs"), Batch: rapid.Bool().Draw(t, "lock batch")}
}

func TestTurnKeepsTheIdentities(t *testing.T) {
	ids := []knob.ID{"dp", "tp", "pp", "cp", "mbs", "microbatches", "gbs", "gpus", "nodes"}
	draws.Check(t, func(t *rapid.T) {
		s, l := anySetup(t), anyLocks(t)
		id := rapid.SampledFrom(ids).Draw(t, "knob")
		p, _ := knob.Find(id)
		got, err := p.Set(s,
			rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "8", "12", "16", "64", "120"}).Draw(t,
				"value"))
		if err != nil {
			t.Fatal(err)
		}
		turned, err := knob.Turn(s, id, p.Text(got), l)
		if err != nil {
			t.Fatal(err)
		}
		if p.Text(turned) != p.Text(got) {
			t.Fatalf("%s turned to %s reads %s", id, p.Text(got), p.Text(turned))
		}
		replica := turned.TP * turned.PP * turned.CP
		if turned.GPUs%replica == 0 && turned.DP*replica != turned.GPUs {
			t.Fatalf("%d GPUs divide by %d but dp is %d", turned.GPUs, replica, turned.DP)
		}
		if turned.GBS%(turned.MBS*turned.DP) == 0 && turned.MBS*turned.MicroBatches*turned.DP != turned.GBS {
			t.Fatalf("batch %d divides by %d x %d but m is %d", turned.GBS, turned.MBS, turned.DP,
				turned.MicroBatches)
		}
	})
}

// Turning to the current value changes nothing; where the followers divide,
// turning back gives the setup before.
func TestTurnBack(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s, l := anySetup(t), anyLocks(t)
		p := rapid.SampledFrom(knob.All()).Draw(t, "knob")
		same, err := knob.Turn(s, p.ID, p.Text(s), l)
		if err != nil || same != s {
			t.Fatalf("%s turned to its own value %q changes the setup (%v)", p.ID, p.Text(s), err)
		}
		if p.ID == "nodes" && s.GPUs%s.Cluster.Node() != 0 {
			return // a knob of whole nodes cannot come back to a part of one
		}
		for _, step := range knob.Steps(s, p.ID, l) {
			back, err := knob.Turn(step.Setup, p.ID, p.Text(s), l)
			if err != nil {
				t.Fatalf("%s from %s back to %s: %v", p.ID, step.Text, p.Text(s), err)
			}
			if back != s {
				t.Fatalf("%s to %s and back to %s is another setup:\n%+v\n%+v", p.ID, step.Text, p.Text(s),
					s.Layout, back.Layout)
			}
		}
	})
}

func TestStepsAreLegalAndAscend(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s, l := anySetup(t), anyLocks(t)
		p := rapid.SampledFrom(knob.All()).Draw(t, "knob")
		steps := knob.Steps(s, p.ID, l)
		current, last := 0, -1
		for _, step := range steps {
			if p.Text(step.Setup) != step.Text {
				t.Fatalf("%s: step %q holds a setup with %q", p.ID, step.Text, p.Text(step.Setup))
			}
			if v := p.Int(step.Setup); p.Kind == knob.Number {
				if v <= last {
					t.Fatalf("%s: %d after %d", p.ID, v, last)
				}
				last = v
			}
			if step.Current {
				current++
				if step.Setup != s {
					t.Fatalf("%s: the current step is another setup", p.ID)
				}
				continue
			}
			for _, problem := range engine.Check(step.Setup) {
				if problem.Severity == layout.Error {
					t.Fatalf("%s at %s: %s", p.ID, step.Text, problem.Message)
				}
			}
		}
		if current != 1 || len(steps) > 41 {
			t.Fatalf("%s: %d steps, %d of them current", p.ID, len(steps), current)
		}
	})
}

func TestStepsOfTheStart(t *testing.T) {
	s := startSetup(t)
	tests := map[knob.ID]string{
		"tp":    "1 2 4 8 16 32",
		"pp":    "1 2 4 8",
		"zero":  "0 1 2 3",
		"dp":    "1 2 4 8 16 32 64 128 256 512",
		"sp":    "off on",
		"nodes": "2 4 8 16 32 64 128 256 512 1024",
	}
	for id, want := range tests {
		got := ""
		for i, step := range knob.Steps(s, id, locksOn()) {
			if i > 0 {
				got += " "
			}
			got += step.Text
		}
		if got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func BenchmarkSteps(b *testing.B) {
	s := startSetup(b)
	for _, id := range []knob.ID{"tp", "dp", "microbatches", "seq"} {
		b.Run(string(id), func(b *testing.B) {
			for b.Loop() {
				knob.Steps(s, id, locksOn())
			}
		})
	}
}

// TestSplitStaysBalanced turns the pipeline of a setup whose split is balanced, and of one whose
// split is not.
func TestSplitStaysBalanced(t *testing.T) {
	s := startSetup(t)
	for _, c := range []struct{ split, pp, want string }{
		{"40,40", "3", layout.BalancedSplit(s.Model.Layers, 3)},
		{"40,40", "128", ""},
		{"39,41", "3", "39,41"},
	} {
		s.Split = c.split
		if got, err := knob.Turn(s, knob.PP, c.pp, knob.Locks{}); err != nil || got.Split != c.want {
			t.Errorf("split %s, pp %s: %q, want %q (%v)", c.split, c.pp, got.Split, c.want, err)
		}
	}
}
