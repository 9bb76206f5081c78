package plain

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// maxRanks is how many ranks are listed one by one; of more, the first and the
// last ones and the fullest.
const maxRanks = 32

// term is one part of a rank's memory.
type term struct {
	name  string
	value units.Bytes
}

func termsOf(r *engine.RankMemory) []term {
	return []term{
		{"weights", r.Weights},
		{"gradients", r.Gradients},
		{"optimizer state", r.Optimizer},
		{"activations", r.Activations},
		{"logits", r.Logits},
		{"buffers", r.Buffers},
		{"overhead", r.Overhead},
	}
}

// listed says whether a rank is listed.
func listed(i, ranks, fullest int) bool {
	return ranks <= maxRanks || i < maxRanks/2 || i >= ranks-maxRanks/2 || i == fullest
}

// each calls do for the ranks that are listed and says which are not.
func (t *text) each(do func(r *engine.RankMemory)) {
	m := t.report.Memory
	hidden := 0
	for i := range m.Ranks {
		if !listed(i, len(m.Ranks), m.PeakRank) {
			hidden++
			continue
		}
		do(&m.Ranks[i])
	}
	if hidden > 0 {
		t.sayf("%s between them are left out.", plural(hidden, "rank"))
	}
}

// terms is a line a term of every rank.
func (t *text) terms() {
	m := t.report.Memory
	t.each(func(r *engine.RankMemory) {
		name := "Memory of rank " + figure.Comma(r.Rank)
		if r.Rank == m.PeakRank && len(m.Ranks) > 1 {
			name += ", the fullest"
		}
		t.heading(name)
		t.sayf("%s, %s parameters, %s in flight.", plural(r.Layers, "layer"), figure.Short(r.Parameters), flying(r.InFlight))
		largest := term{}
		for _, x := range termsOf(r) {
			if x.value > largest.value {
				largest = x
			}
		}
		for _, x := range termsOf(r) {
			mark := ""
			if x.name == largest.name {
				mark = ", the largest"
			}
			share := ""
			if r.Total > 0 {
				share = ", " + percent(float64(x.value/r.Total))
			}
			t.sayf("%s: %s%s%s.", upper(x.name), gib(x.value), share, mark)
		}
		o := r.OverheadParts
		if o.Sum() > 0 {
			t.sayf("The overhead is allocator slack %s, driver context %s, communicators %s.", gib(o.Slack), gib(o.Context), gib(o.Communicators))
		}
		if r.Offloaded > 0 {
			t.sayf("In host memory: %s.", gib(r.Offloaded))
		}
		over := ""
		if r.Total > m.Usable {
			over = ", too much by " + gib(r.Total-m.Usable)
		}
		t.sayf("Total: %s%s.", gib(r.Total), over)
	})
	if len(m.Ranks) > 1 {
		var sum units.Bytes
		for i := range m.Ranks {
			sum += m.Ranks[i].Total
		}
		t.sayf("All ranks of one pipeline together: %s.", gib(sum))
	}
}

func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// shards says what ZeRO divides on the fullest rank.
func (t *text) shards() {
	m := t.report.Memory
	shards, ok := engine.Unsharded(*t.setup)
	if !ok || m.PeakRank >= len(shards.Whole) {
		return
	}
	t.heading("What ZeRO divides")
	here, whole := &m.Ranks[m.PeakRank], &shards.Whole[m.PeakRank]
	divided := false
	all := termsOf(whole)
	for i, x := range termsOf(here)[:3] {
		if x.value <= 0 || all[i].value <= x.value*1.001 {
			continue
		}
		divided = true
		t.sayf("%s of rank %d: %s here, one part in %s of %s.", upper(x.name), here.Rank, gib(x.value), number(float64(all[i].value/x.value)), gib(all[i].value))
	}
	if !divided {
		t.sayf("ZeRO stage %d over %s divides nothing.", t.setup.ZeRO, plural(shards.Dense, "rank"))
		return
	}
	t.sayf("ZeRO stage %d divides over %s.", t.setup.ZeRO, plural(shards.Dense, "rank"))
	if t.setup.Model.IsMoE() {
		t.sayf("Routed experts are divided over %s.", plural(shards.Expert, "rank"))
	}
}

// overStep is memory over the first step and the later ones.
func (t *text) overStep() {
	over, ok := engine.MemoryOverStep(*t.setup)
	if !ok {
		return
	}
	t.heading("Memory over a step")
	switch {
	case over.Fits[0] && !over.Fits[1]:
		t.sayf("The first step fits, the second does not: the first update completes the optimizer's state.")
	case !over.Fits[1]:
		t.sayf("Neither the first step nor the later ones fit.")
	default:
		t.sayf("The first step and the later ones fit.")
	}
	for i := range over.Ranks {
		if r := &over.Ranks[i]; listed(i, len(over.Ranks), over.PeakRank) {
			t.sayf("Rank %d peaks at %s in the first step and at %s from the second on%s.", r.Rank, gib(r.Peaks[0]), gib(r.Peaks[1]), when(&r.Profiles[1]))
		}
	}
	o := &over.Milestones
	t.sayf("Rank %d has allocated %s once the model is loaded, %s with its states before the first forward.", over.PeakRank, gib(o.Model), gib(o.States))
	t.sayf("It has allocated %s at the peak of the first pass, %s after the update, %s at the peak of later passes.", gib(o.FirstPeak), gib(o.AfterUpdate), gib(o.LaterPeak))
}

// when says at which moment the peak is reached first.
func when(c *memory.Profile) string {
	return ", " + figure.Seconds(c.Peak().At) + " into the step"
}

// layers takes a layer of each kind to pieces.
func (t *text) layers() {
	kinds, ok := engine.Parts(*t.setup)
	if !ok {
		return
	}
	for _, k := range kinds {
		name := "One dense layer on one GPU, of "
		if k.MoE {
			name = "One layer with experts on one GPU, of "
		}
		t.heading(name + figure.Comma(k.Layers))
		for _, p := range k.Parts {
			t.sayf("%s: %s parameters, %s of states, %s kept of one micro-batch.", upper(p.Name), figure.Short(p.Parameters), size(p.States), size(p.Activations))
		}
	}
}

// flying is how many micro-batches are in flight.
func flying(n float64) string {
	if n == 1 {
		return "1 micro-batch"
	}
	return number(n) + " micro-batches"
}

// number writes a plain number with at most four digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// size writes bytes in MiB below 1 GiB.
func size(b units.Bytes) string {
	if b >= units.GiB || b <= 0 {
		return gib(b)
	}
	return figure.Three(float64(b/units.MiB)) + " MiB"
}

// limits are the sequence and the micro-batch at which it stops fitting.
func (t *text) limits() {
	l, ok := engine.Limits(*t.setup)
	if !ok {
		return
	}
	seq, mbs := engine.Stops(*t.setup, l)
	t.heading("Where it stops fitting")
	switch {
	case l.Seq <= 0:
		t.sayf("No sequence fits, not even %s tokens.", figure.Comma(l.SeqUnit))
	case l.SeqOpen:
		t.sayf("Every sequence up to %s tokens fits; memory is not what ends it.", figure.Comma(l.Seq))
	default:
		t.sayf("The longest sequence that fits is %s tokens, with %s.", figure.Comma(l.Seq), gib(l.SeqPeak))
	}
	t.stop(seq, figure.Comma(l.SeqUnit)+" tokens more", l.Seq > 0)
	switch {
	case l.MBS <= 0:
		t.sayf("No micro-batch fits with sequences of %s tokens.", figure.Comma(t.setup.Seq))
	case l.MBSOpen:
		t.sayf("Every micro-batch up to %s fits; memory is not what ends it.", plural(l.MBS, "sequence"))
	default:
		t.sayf("The largest micro-batch that fits is %s, with %s.", plural(l.MBS, "sequence"), gib(l.MBSPeak))
	}
	t.stop(mbs, "one sequence more", l.MBS > 0)
}

// stop names the term that comes in the way.
func (t *text) stop(s *engine.Stop, next string, some bool) {
	switch {
	case s == nil:
	case some:
		t.sayf("With %s, rank %d needs %s, %s more; of that the %s take %s.", next, s.Rank, gib(s.Total), gib(s.Grows), s.Term, gib(s.More))
	default:
		t.sayf("Already with that rank %d needs %s, its %s alone %s.", s.Rank, gib(s.Total), s.Term, gib(s.More))
	}
}
