package state

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/ui/overlay"
)

func TestApply(t *testing.T) {
	start := New(presets.DefaultSetup(), "", true)
	turned, _ := Apply(start, Action{Verb: TurnKnob, N: -1}) // tp 8 -> 4
	illegal, _ := Apply(start, Action{Verb: SetKnob, ID: "tp", Text: "3"})

	for _, test := range []struct {
		name    string
		from    State
		action  Action
		check   func(State) bool
		note    string
		effects []Effect
	}{
		{name: "nothing", from: start, action: Action{}, check: func(s State) bool { return s == start }},
		{
			name: "turn down: DP follows, the GPUs stay", from: start, action: Action{Verb: TurnKnob, N: -1},
			check: func(s State) bool {
				return s.Setup.TP == 4 && s.Setup.DP == 8 && s.Setup.GPUs == 64 && s.Setup.GBS == 512
			},
			note: "TP 8 → 4, DP 4 → 8, micro-batches 128 → 64",
		},
		{
			name:   "turn with the other lock: the GPUs follow",
			from:   func() State { s, _ := Apply(start, Action{Verb: FlipLock}); return s }(),
			action: Action{Verb: TurnKnob, N: -1},
			check: func(s State) bool {
				return s.Setup.TP < 8 && s.Setup.DP == 4 && s.Setup.GPUs == s.Setup.TP*8
			},
		},
		{
			name: "the end of the ladder holds", from: start, action: Action{Verb: TurnKnob, N: -100},
			check: func(s State) bool { return s.Setup.TP == 1 },
		},
		{
			name: "beyond the end nothing moves", from: withFocus(start, "zero", "3"),
			action: Action{Verb: TurnKnob, N: 1},
			check:  func(s State) bool { return s.Setup.ZeRO == 3 },
			note:   "ZeRO 3 is the largest legal value here",
		},
		{
			name: "a value that cannot be taken", from: start,
			action: Action{Verb: SetKnob, ID: "zero", Text: "7"},
			check:  func(s State) bool { return s.Setup == start.Setup && s.Note.Tone == Trouble },
		},
		{
			name: "an illegal value is taken", from: start,
			action: Action{Verb: SetKnob, ID: "tp", Text: "3"},
			check:  func(s State) bool { return s.Setup.TP == 3 },
		},
		{
			name: "the nearest legal value", from: illegal, action: Action{Verb: TakeFix},
			check: func(s State) bool { return s.Setup != illegal.Setup },
		},
		{
			name: "nothing to fix", from: start, action: Action{Verb: TakeFix},
			check: func(s State) bool { return s.Setup == start.Setup },
		},
		{
			name: "undo", from: turned, action: Action{Verb: Undo},
			check: func(s State) bool { return s.Setup == start.Setup },
			note:  "undone: TP 8 → 4, DP 4 → 8, micro-batches 128 → 64",
		},
		{name: "nothing to undo", from: start, action: Action{Verb: Undo}, note: "nothing left to undo"},
		{name: "nothing to redo", from: turned, action: Action{Verb: Redo}, note: "nothing left to redo"},
		{
			name: "focus down", from: start, action: Action{Verb: MoveFocus, N: 1},
			check: func(s State) bool { return s.Focus == "pp" },
		},
		{
			name: "focus holds at the top", from: start, action: Action{Verb: MoveFocus, N: -99},
			check: func(s State) bool { return s.Focus == "nodes" },
		},
		{
			name: "no lock on the schedule", from: withFocus(start, "schedule", ""),
			action: Action{Verb: FlipLock}, check: func(s State) bool { return s.Locks == start.Locks },
		},
		{
			name: "pages end", from: start, action: Action{Verb: PageRanks, N: 9, Pages: 3},
			check: func(s State) bool { return s.Page == 2 },
		},
		{
			name: "theme", from: start, action: Action{Verb: NextTheme, Text: "dark"},
			check: func(s State) bool { return s.Theme == "light" },
		},
		{
			name: "mouse", from: start, action: Action{Verb: ToggleMouse},
			check: func(s State) bool { return !s.Mouse },
		},
		{
			name: "open", from: start, action: Action{Verb: Open, Overlay: overlay.HelpID},
			effects: []Effect{{Verb: Open, Overlay: overlay.HelpID}},
		},
		{name: "quit", from: start, action: Action{Verb: Quit}, effects: []Effect{{Verb: Quit}}},
		{name: "ctrl+c", from: start, action: Action{Verb: Interrupt}, effects: []Effect{{Verb: Interrupt}}},
		{name: "suspend", from: start, action: Action{Verb: Suspend}, effects: []Effect{{Verb: Suspend}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := test.from
			got, effects := Apply(test.from, test.action)
			if test.from != before {
				t.Error("the state that was given has changed")
			}
			if test.check != nil && !test.check(got) {
				t.Errorf("state after: %+v, note %q", got.Setup.Layout, got.Note.Text)
			}
			if test.note != "" && got.Note.Text != test.note {
				t.Errorf("note %q, want %q", got.Note.Text, test.note)
			}
			if !slices.Equal(effects, test.effects) {
				t.Errorf("effects %v, want %v", effects, test.effects)
			}
		})
	}
}

func withFocus(s State, id knob.ID, value string) State {
	s.Focus = id
	if value != "" {
		s, _ = Apply(s, Action{Verb: SetKnob, ID: id, Text: value})
	}
	return s
}

// TestUndoEverything: whatever was done, as many undos lead back to the start
// and as many redos to the end.
func TestUndoEverything(t *testing.T) {
	start := New(presets.DefaultSetup(), "", true)
	deepseek := setupOf(t, "deepseek-v3", "deepseek-h800", knob.Given{})
	actions := []Action{
		{Verb: TurnKnob, N: -1},
		{Verb: SetKnob, ID: "mbs", Text: "2"},
		{Verb: FlipLock, ID: "gbs"},
		{Verb: SetKnob, ID: "tp", Text: "3"},
		{Verb: TakeFix},
		{Verb: UseSetup, Setup: &deepseek, Text: "model"},
		{Verb: SetKnob, ID: "recompute", Text: "full"},
	}
	s, states := start, []State{start}
	for _, a := range actions {
		next, _ := Apply(s, a)
		if next.Setup == s.Setup && next.Locks == s.Locks {
			t.Fatalf("%+v changed nothing: %s", a, next.Note.Text)
		}
		s, states = next, append(states, next)
	}
	for i := len(states) - 2; i >= 0; i-- {
		s, _ = Apply(s, Action{Verb: Undo})
		if s.Setup != states[i].Setup || s.Locks != states[i].Locks {
			t.Fatalf("undo does not lead back to state %d", i)
		}
	}
	for i := 1; i < len(states); i++ {
		s, _ = Apply(s, Action{Verb: Redo})
		if s.Setup != states[i].Setup || s.Locks != states[i].Locks {
			t.Fatalf("redo does not lead to state %d", i)
		}
	}
}

// TestNumbers: what people type for a number is what the engine reads.
func TestNumbers(t *testing.T) {
	for in, want := range map[string]int{
		"8": 8, " 16,384 ": 16384, "16_384": 16384, "16k": 16384, "1M": 1 << 20, "0.5k": 512, "1.5k": 1536,
		"0.3k": -1, "k": -1, "full": -1, "-1": -1, "": -1, "1e99k": -1,
	} {
		s := set(withFocus(New(presets.DefaultSetup(), "", true), "seq", ""), "seq", in)
		switch {
		case want < 0 && s.Note.Tone != Trouble:
			t.Errorf("%q is taken for %d", in, s.Setup.Seq)
		case want >= 0 && s.Setup.Seq != want:
			t.Errorf("%q is %d, want %d", in, s.Setup.Seq, want)
		}
	}
}

// TestAllowed: bounds are written as all figures are, before anything is typed and
// while it is.
func TestAllowed(t *testing.T) {
	p, _ := knob.Find("tp")
	of := presets.DefaultSetup()
	for _, typed := range []string{"", "12", "x"} {
		if got := Preview(&of, &p, typed); got != "TP: a whole number from 1 to 1,048,576" {
			t.Errorf("after %q: %s", typed, got)
		}
	}
}

// TestPreviewReads: what is shown while a value is typed is what enter takes, a batch in tokens too, and
// both readings of what enter refuses to guess.
func TestPreviewReads(t *testing.T) {
	of := presets.DefaultSetup()
	of.Seq = 8192
	for _, c := range []struct {
		knob        knob.ID
		typed, want string
	}{
		{knob.GBS, "8Mtok", "8Mtok = 1,024"},
		{knob.GBS, "4M", `global batch: "4M" can be 4Mtok, which is tokens, or 4194304, which is ` +
			"sequences; nearest 4Mtok"},
		{knob.GBS, "8M", `global batch: "8M" can be 8Mtok, which is tokens, or 8388608, which is ` +
			"sequences; nearest 8Mtok"},
		{knob.GBS, "8Mt", "global batch: a whole number from 1 to 1,099,511,627,776"},
		{knob.Seq, "4k", "4k = 4,096"},
		{knob.Seq, "1.024", `sequence: "1.024" can be 1024 if the point groups digits, 1 if 1.024 ` +
			"is rounded"},
		{knob.Nodes, "1k", "1k = 1,024"},
	} {
		p, _ := knob.Find(c.knob)
		if got := Preview(&of, &p, c.typed); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.knob, c.typed, got, c.want)
		}
	}
}

// TestWhyNot: a knob that does not turn says why.
func TestWhyNot(t *testing.T) {
	moe := setupOf(t, "deepseek-v3", "deepseek-h800", knob.Given{
		knob.GPUs: 2048, knob.PP: 16, knob.EP: 64, knob.GBS: 15360, knob.Seq: 4096,
	})
	lighter := presets.DefaultSetup() // the last choice of its two stages
	lighter.Split = "41,39"
	for _, test := range []struct {
		id   knob.ID
		from engine.Setup
		n    int
		want string
	}{
		{"vpp", moe, 1, "120"},
		{"group-size", presets.DefaultSetup(), 1, "no effect here: interleaved only"},
		{"split", lighter, 1, "others are typed"},
		{"zero", presets.DefaultSetup(), 9, ""},
		{"ep", presets.DefaultSetup(), 1, "dense model"},
	} {
		s := New(test.from, "", true)
		s.Focus = test.id
		s = turnBy(s, test.n)
		if !strings.Contains(s.Note.Text, test.want) {
			t.Errorf("%s: %q does not say %q", test.id, s.Note.Text, test.want)
		}
		t.Logf("%s: %s", test.id, s.Note.Text)
	}
}

// TestFirstTheme: the first press of t changes what is seen, whatever auto is.
func TestFirstTheme(t *testing.T) {
	for _, auto := range []string{"dark", "light", "mono"} {
		s, _ := Apply(New(presets.DefaultSetup(), "", true), Action{Verb: NextTheme, Text: auto})
		if s.Theme == auto || s.Theme == ThemeAuto {
			t.Errorf("from auto, which is %s, to %s", auto, s.Theme)
		}
	}
}

// setupOf is a setup with another model and cluster of the library.
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

// TestBriefLists: a list of many stages is said by its ends, a short one whole.
func TestBriefLists(t *testing.T) {
	split, _ := knob.Find(knob.Split)
	for text, want := range map[string]string{
		"balanced":            "balanced",
		"20,20,20,20":         "20,20,20,20",
		"1,2,3,4,5,6,7,8":     "1,2,3,4,5,6,7,8",
		"1,2,3,4,5,6,7,8,9,0": "1,2,3,…,8,9,0",
	} {
		if got := brief(&split, text); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// TestBatchOfAdapters: adapters have the batch that a search has for them, and all weights theirs again, in
// one turn; one that the reader has fixed stays.
func TestBatchOfAdapters(t *testing.T) {
	plain := presets.DefaultSetup()
	plain.Stack, plain.TP, plain.PP, plain.SP, plain.ZeRO = recipe.PyTorch, 1, 1, false, 3
	plain.GPUs, plain.DP, plain.MicroBatches = 8, 8, 64
	adapted := plain
	adapted.Rank = 16
	own := search.UnsetGBS(&adapted, []int{8}, plain.Seq)
	if !engine.Legal(plain) || own == plain.GBS {
		t.Fatal(engine.Check(plain), own)
	}
	s, effects := Apply(New(plain, "", true), Action{Verb: SetKnob, ID: knob.LoRA, Text: "16"})
	if len(effects) > 0 || s.Setup.GBS != own || !engine.Legal(s.Setup) || s.Fixed.Has(knob.GBS) {
		t.Errorf("adapters have %d sequences, want %d", s.Setup.GBS, own)
	}
	if !strings.Contains(s.Note.Text, "global batch 512 → 16") {
		t.Errorf("note %q", s.Note.Text)
	}
	if s, _ = Apply(s, Action{Verb: SetKnob, ID: knob.LoRA, Text: "32"}); s.Setup.GBS != own {
		t.Errorf("another rank has %d sequences", s.Setup.GBS)
	}
	s.Setup.MicroBatches, s.Setup.GBS = 4, 32
	for _, action := range []Action{{Verb: SetKnob, ID: knob.LoRA, Text: "none"}, {Verb: TurnKnob, N: -100}} {
		off, _ := Apply(s, action)
		if off.Setup.Frozen() || off.Setup.GBS != search.UnsetGBS(&off.Setup, []int{8}, plain.Seq) {
			t.Errorf("%v: all weights have %d sequences: %s", action, off.Setup.GBS, off.Note.Text)
		}
	}
	s, _ = Apply(New(plain, "", true), Action{Verb: SetKnob, ID: knob.GBS, Text: "64"})
	if s, _ = Apply(s, Action{Verb: SetKnob, ID: knob.LoRA, Text: "16"}); s.Setup.GBS != 64 {
		t.Errorf("a batch that the reader has fixed becomes %d", s.Setup.GBS)
	}
	if draft, _ := Again(&s, Action{ID: knob.LoRA, Text: "none"}); !draft.Has(knob.GBS) {
		t.Error("a layout chosen anew drops the batch that the reader has fixed")
	}
}

// TestSameValueIsSaid: a value that a knob has already is answered, and a batch may be given in tokens.
func TestSameValueIsSaid(t *testing.T) {
	s := New(presets.DefaultSetup(), "", true)
	k, _ := knob.Find(knob.TP)
	next, _ := Apply(s, Action{Verb: SetKnob, ID: knob.TP, Text: k.Text(s.Setup)})
	if want := "TP is " + k.Text(s.Setup) + " already"; next.Note.Text != want {
		t.Errorf("%q, not %q", next.Note.Text, want)
	}
	batch, _ := knob.Find(knob.GBS)
	if got := Preview(&s.Setup, &batch, ""); !strings.HasSuffix(got, "or tokens: 4Mtok") {
		t.Error(got)
	}
}
