package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/presets"
)

// query returns a query on nodes of eight H100 with values of knobs.
func query(t *testing.T, values map[knob.ID]string) *search.Query {
	t.Helper()
	q := search.NewQuery()
	q.Setup = presets.DefaultSetup()
	for id, text := range values {
		if err := q.Set(id, text); err != nil {
			t.Fatalf("%s %s: %v", id, text, err)
		}
	}
	return q
}

// TestValuesOfASearch: a range without a step stands for what may be legal in it: whole nodes of
// eight, divisors of the GPUs, of the experts and of the batch, batches and lengths that double.
func TestValuesOfASearch(t *testing.T) {
	of := func(text string, ids ...knob.ID) map[knob.ID]string {
		out := map[knob.ID]string{knob.GPUs: "24", knob.GBS: "12"}
		for _, id := range ids {
			out[id] = text
		}
		return out
	}
	for _, c := range []struct {
		values map[knob.ID]string
		list   func(sp *search.Space) []int
		want   []int
	}{
		{
			map[knob.ID]string{knob.GPUs: "3..32"},
			func(sp *search.Space) []int { return sp.GPUs },
			[]int{4, 8, 16, 24, 32},
		},
		{map[knob.ID]string{knob.GPUs: "20"}, func(sp *search.Space) []int { return sp.GPUs }, []int{20}},
		{
			map[knob.ID]string{knob.Nodes: "1..3"},
			func(sp *search.Space) []int { return sp.GPUs },
			[]int{8, 16, 24},
		},
		{
			map[knob.ID]string{knob.Nodes: "2", knob.GPUs: "8,12,16,17"},
			func(sp *search.Space) []int { return sp.GPUs },
			[]int{12, 16},
		},
		{of("1..8", knob.TP), func(sp *search.Space) []int { return sp.TP }, []int{1, 2, 3, 4, 6, 8}},
		{of("2..12", knob.PP), func(sp *search.Space) []int { return sp.PP }, []int{2, 3, 4, 6, 8, 12}},
		{of("1..4", knob.CP), func(sp *search.Space) []int { return sp.CP }, []int{1, 2, 3, 4}},
		{of("5..24", knob.DP), func(sp *search.Space) []int { return sp.DP }, []int{6, 8, 12, 24}},
		{of("1..2", knob.ETP), func(sp *search.Space) []int { return sp.ETP }, []int{1, 2}},
		{of("1..8", knob.EP), func(sp *search.Space) []int { return sp.EP }, []int{1, 2, 4, 8}},
		{of("2..5", knob.VPP), func(sp *search.Space) []int { return sp.VPP }, []int{2, 3, 4, 5}},
		{of("1..3", knob.ZeRO), func(sp *search.Space) []int { return sp.ZeRO }, []int{1, 2, 3}},
		{of("2..6", knob.MBS), func(sp *search.Space) []int { return sp.MBS }, []int{2, 3, 4, 6}},
		{
			of("4..12", knob.MicroBatches), func(sp *search.Space) []int { return sp.MicroBatches },
			[]int{4, 6, 12},
		},
		{
			map[knob.ID]string{knob.GBS: "96..500"},
			func(sp *search.Space) []int { return sp.GBS },
			[]int{96, 192, 384},
		},
		{map[knob.ID]string{knob.GBS: "5,7"}, func(sp *search.Space) []int { return sp.GBS }, []int{5, 7}},
		{
			map[knob.ID]string{knob.Seq: "4096..16384"},
			func(sp *search.Space) []int { return sp.Seq },
			[]int{4096, 8192, 16384},
		},
	} {
		q := query(t, c.values)
		q.Setup.Model = presetModel(t, "mixtral-8x22b")
		sp, err := q.Space()
		if got := c.list(&sp); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v (%v)", c.values, got, c.want, err)
		}
	}
}

// TestWordsOfASearch: words become what they name, 1F1B first: it names all schedules of one rank.
func TestWordsOfASearch(t *testing.T) {
	q := query(t, map[knob.ID]string{
		knob.SP: "off,on", knob.Schedule: "zb-h1,afab,1f1b",
		knob.Recompute: "full,none",
	})
	sp, err := q.Space()
	if err != nil {
		t.Fatal(err)
	}
	want := search.Space{
		SP: []bool{false, true}, Schedules: []schedule.Kind{schedule.OneFOneB, schedule.ZBH1, schedule.AFAB},
		Recompute: []recipe.Recompute{{Mode: recipe.RecomputeFull}, {Mode: recipe.RecomputeNone}},
	}
	if !slices.Equal(sp.SP, want.SP) || !slices.Equal(sp.Schedules, want.Schedules) ||
		!reflect.DeepEqual(sp.Recompute, want.Recompute) {
		t.Errorf("%+v, want %+v", sp, want)
	}
}

// TestWhatASearchTriesByItself: the fewest GPUs are looked for in nodes that double, as many as the
// machine has, and the longest sequence from 4,096 to 1,048,576 tokens.
func TestWhatASearchTriesByItself(t *testing.T) {
	for _, c := range []struct {
		most int
		want []int
	}{
		{0, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}},
		{100, []int{1, 2, 4, 8, 16, 32, 64}},
		{64, []int{1, 2, 4, 8, 16, 32, 64}},
		{4, []int{1, 2, 4}}, // less than a node
	} {
		q := query(t, nil)
		q.Objective, q.Setup.GPUs, q.Setup.Cluster.MaxGPUs = search.FewestGPUs, 2, c.most
		if sp, err := q.Space(); err != nil || !slices.Equal(sp.GPUs, c.want) || len(sp.Seq) != 1 {
			t.Errorf("a machine of %d: %v and sequences of %d, want %v (%v)", c.most, sp.GPUs, sp.Seq, c.want,
				err)
		}
	}
	q := query(t, nil)
	q.Objective = search.LongestSeq
	sp, err := q.Space()
	if want := []int{4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576}; err != nil ||
		!slices.Equal(sp.Seq, want) {
		t.Errorf("the longest sequence: %v, want %v (%v)", sp.Seq, want, err)
	}
}

// TestRefusedQueries: what no list can be made of names the fields.
func TestRefusedQueries(t *testing.T) {
	for _, c := range []struct {
		values map[knob.ID]string
		fields [2]string
	}{
		{map[knob.ID]string{knob.Nodes: "2", knob.GPUs: "8,17"}, [2]string{"gpus", "nodes"}},
		{map[knob.ID]string{knob.GBS: "4Mtok", knob.Seq: "4096,8192"}, [2]string{"gbs", "seq"}},
	} {
		var conflict *knob.ConflictError
		if _, err := query(t, c.values).Problem(); !errors.As(err, &conflict) || conflict.Fields != c.fields {
			t.Errorf("%v: %v", c.values, err)
		}
	}
	var wrong *knob.ValueError
	if err := search.NewQuery().Set(knob.GBS, "4Mtok,512"); !errors.As(err, &wrong) || wrong.Field != "gbs" ||
		wrong.Given != "4Mtok,512" {
		t.Errorf("tokens and sequences in one list: %v", err)
	}
	if err := search.NewQuery().Set("wheels", "4"); err == nil {
		t.Error("a knob that there is not is taken")
	}
	q := query(t, map[knob.ID]string{knob.MBS: "1..300:1"})
	if _, err := q.Space(); !errors.As(err, &wrong) || wrong.Field != string(knob.MBS) {
		t.Errorf("300 micro-batches of all layouts: %v", err)
	}
}

// TestWhatAQueryWasGiven: one value is single, a list or a range is several, and tokens are a batch.
func TestWhatAQueryWasGiven(t *testing.T) {
	q := query(t, map[knob.ID]string{
		knob.TP: "8", knob.PP: "2,4", knob.CP: "1..4", knob.SP: "on",
		knob.ZeRO: "2..2",
	})
	for id, want := range map[knob.ID]struct {
		text            string
		single, several bool
	}{
		knob.TP: {"8", true, false}, knob.PP: {"2,4", false, true}, knob.CP: {"1..4", false, true},
		knob.SP: {"on", true, false}, knob.GBS: {"", false, false},
	} {
		text, single := q.Single(id)
		if text != want.text || single != want.single || q.Several(id) != want.several ||
			q.Given(id) != (want.text != "") {
			t.Errorf("%s: %q single %v several %v given %v, want %v", id, text, single, q.Several(id),
				q.Given(id), want)
		}
	}
	for text, single := range map[string]bool{"4Mtok": true, "2Mtok,4Mtok": false} {
		q := query(t, map[knob.ID]string{knob.GBS: text})
		if got, one := q.Single(knob.GBS); got != text || one != single || !q.Given(knob.GBS) ||
			q.Several(knob.GBS) == single {
			t.Errorf("%s: %q, single %v", text, got, one)
		}
	}
	s := presets.DefaultSetup()
	s.VPP = 3
	if q.Text(knob.PP, &s) != "2,4" || q.Text(knob.VPP, &s) != "3" || q.Text("wheels", &s) != "" {
		t.Errorf("texts %q, %q and %q", q.Text(knob.PP, &s), q.Text(knob.VPP, &s), q.Text("wheels", &s))
	}
	if !q.AnyGPUs() || query(t, map[knob.ID]string{knob.GPUs: "8"}).AnyGPUs() ||
		query(t, map[knob.ID]string{knob.Nodes: "1"}).AnyGPUs() {
		t.Error("GPUs that are given are not any")
	}
}
