package engine_test

import (
	"strconv"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// TestBatchInTokens: a batch in tokens is the nearest of whole micro-batches on every replica, in
// a draft, on the knob and in a search; bare millions are refused with both meanings.
func TestBatchInTokens(t *testing.T) {
	s := presets.DefaultSetup()
	for text, want := range map[string]int{
		"4Mtok": 512, "4194304tok": 512, " 512ktokens ": 64,
		"4.1Mtok": 524, "1tok": 4,
	} {
		s.DP, s.MBS = 4, 1
		turned, err := knob.Turn(s, knob.GBS, text, knob.Locks{})
		if err != nil || turned.GBS != want || turned.MicroBatches != want/4 {
			t.Errorf("%s: %d sequences in %d micro-batches, %v", text, turned.GBS, turned.MicroBatches, err)
		}
		d := knob.DraftOf(s.Model, s.Cluster, knob.Given{knob.GBS: text, knob.TP: 8, knob.PP: 2})
		if got, err := d.Resolve(); err != nil || got.GBS != want {
			t.Errorf("%s: a draft has %d, %v", text, got.GBS, err)
		}
	}
	for _, text := range []string{"4M", "4m", "tok", "-4Mtok", "4Gtok", "1e6tok", "4 M"} {
		if _, err := knob.Turn(s, knob.GBS, text, knob.Locks{}); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	for tokens, want := range map[int]int{4 << 20: 512, 60 << 20: 7680, 1: 1} {
		if got := search.BatchNear(tokens, []int{256}, 8192); got != want {
			t.Errorf("%d tokens: a search takes %d sequences, not %d", tokens, got, want)
		}
	}
	if got := search.BatchNear(4<<20, []int{48}, 8192); got != 504 {
		t.Errorf("on 48 GPUs a search takes %d", got)
	}
}

// TestSequenceKeepsTokens: another sequence keeps the tokens of a batch as nearly as whole
// micro-batches allow, and without the lock its sequences.
func TestSequenceKeepsTokens(t *testing.T) {
	s := presets.DefaultSetup()
	draws.CheckFew(t, 50, func(r *rapid.T) {
		seq := 512 * rapid.IntRange(1, 64).Draw(r, "seq")
		s.DP, s.MBS = rapid.IntRange(1, 8).Draw(r, "dp"), rapid.IntRange(1, 4).Draw(r, "mbs")
		s.GBS = s.DP * s.MBS * rapid.IntRange(1, 200).Draw(r, "m")
		text := strconv.Itoa(seq)
		kept, err := knob.Turn(s, knob.Seq, text, knob.Locks{Tokens: true})
		if err != nil {
			r.Fatal(err)
		}
		unit := s.DP * s.MBS
		off := kept.GBS*seq - s.GBS*s.Seq
		if kept.GBS%unit != 0 || kept.GBS > unit && (2*off > unit*seq || -2*off > unit*seq) {
			r.Fatalf("%d sequences of %d became %d of %d", s.GBS, s.Seq, kept.GBS, seq)
		}
		if same, _ := knob.Turn(s, knob.Seq, text, knob.Locks{}); same.GBS != s.GBS {
			r.Fatalf("without the lock the batch became %d", same.GBS)
		}
	})
}
