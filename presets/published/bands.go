package published

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/presets"
)

// Errors is the error of one prediction of one published run, with what it is compared
// with others by.
type Errors struct {
	Traits           band.Traits
	Group            *Group
	ID               string
	Example          string  // the model and the GPUs, for a reader
	Log              float64 // ln(predicted / measured)
	Memory, InSample bool
}

// RunErrors evaluates every run of the groups and returns the errors of the step times
// and of the memory. Groups whose runs are in another group too are left out.
func RunErrors(groups []Group) (times, memory []Errors) {
	e := engine.Evaluator{SkipTimeline: true}
	for i := range groups {
		g := &groups[i]
		if g.Repeats {
			continue
		}
		for k := range g.Runs {
			r := &g.Runs[k]
			p := r.predict(&e)
			if p == nil {
				continue
			}
			one := Errors{Group: g, ID: r.ID, InSample: g.Fitted, Example: example(&r.Setup)}
			if r.Step > 0 {
				one.Traits, one.Log = p.timeTraits, math.Log(p.step/r.Step)
				times = append(times, one)
			}
			if r.Memory > 0 {
				one.Traits, one.Log, one.Memory = p.peakTraits, math.Log(p.memory/r.Memory), true
				memory = append(memory, one)
			}
		}
	}
	return times, memory
}

// example names a run to a reader: "Llama-3 70B on 64 H100 SXM5". It has no comma.
func example(s *engine.Setup) string {
	return strings.ReplaceAll(fmt.Sprintf("%s on %d %s", s.Model.Name, s.GPUs, GPUWords(s)), ",", "")
}

// GPUWords names the GPU of a setup without its memory: "H100 SXM5".
func GPUWords(s *engine.Setup) string {
	gpu, _, _ := strings.Cut(s.Cluster.GPU.Name, " (")
	if words := strings.Fields(gpu); len(words) > 1 && strings.HasSuffix(gpu, "GB") {
		gpu = strings.Join(words[:len(words)-1], " ")
	}
	return gpu
}

// mostRuns is how many runs of one release count at most: a sweep of 748 does not
// outvote all others.
const mostRuns = 100

// cellKey is what all runs of a cell share.
type cellKey struct {
	release, gpu, stack      string
	version                  string
	experts, pipeline, zero3 bool
	tp, cp, ep               band.Reach
	bits, gpus, mbs          int
	pcie, recompute, fitted  bool
}

// keyOf returns the key of a run of a release.
func keyOf(x *band.Traits, release string, fitted, memory bool) cellKey {
	key := cellKey{
		release: release, gpu: x.GPU, stack: x.Stack, version: x.Version, experts: x.Experts,
		pipeline: x.Pipeline, zero3: x.ZeRO3,
		tp: x.TP, cp: x.CP, ep: x.EP, bits: x.Bits, gpus: int(math.Round(float64(x.GPUs) / 4)), pcie: x.PCIe,
		fitted:    fitted,
		recompute: memory && x.Recompute,
	}
	if memory { // what a micro-batch keeps is most of what is uncertain
		key.mbs = int(math.Round(float64(x.MBS) / 2))
	}
	return key
}

// InCell reports whether a run of a group is one of a cell, of times or of memory.
func InCell(c *band.Cell, g *Group, s *engine.Setup, memory bool) bool {
	if g.Repeats || g.Series != c.Release {
		return false
	}
	x := engine.Traits(s, new(engine.Report), memory)
	return keyOf(&x, g.Series, g.Fitted, memory) == keyOf(&c.Traits, c.Release, c.Fitted, memory)
}

// Cells groups runs that are alike. The table gives rho.
func Cells(t *band.Table, runs []Errors) (cells []band.Cell, publishers []string) {
	per := map[string]int{}
	for i := range runs {
		per[runs[i].Group.Series]++
	}
	at := map[cellKey]int{}
	in := map[int][]*Errors{}
	for i := range runs {
		r := &runs[i]
		x := &r.Traits
		key := keyOf(x, r.Group.Series, r.InSample, t.Memory)
		k, ok := at[key]
		if !ok {
			k = len(cells)
			at[key] = k
			publisher := slices.Index(publishers, r.Group.Publisher)
			if publisher < 0 {
				publisher, publishers = len(publishers), append(publishers, r.Group.Publisher)
			}
			cells = append(cells, band.Cell{
				Group: r.Group.ID, Release: r.Group.Series, Source: publisher,
				Fitted: r.InSample, Traits: band.Traits{
					GPU: x.GPU, Vendor: x.Vendor, Generation: x.Generation, Stack: x.Stack, Family: x.Family,
					Version: x.Version, Experts: x.Experts, TP: x.TP, CP: x.CP, EP: x.EP,
					Pipeline: x.Pipeline, ZeRO3: x.ZeRO3, PCIe: x.PCIe, Recompute: key.recompute,
					Bits: x.Bits,
				},
			})
		}
		c := &cells[k]
		c.GPUs += x.GPUs
		c.MicroBatches += x.MicroBatches
		c.Active += x.Active
		c.Seq += x.Seq
		c.MBS += x.MBS
		c.NonCompute += x.NonCompute
		c.Traffic += x.Traffic
		c.Error += scaled(t, r)
		c.Off += math.Expm1(math.Abs(r.Log))
		in[k] = append(in[k], r)
		c.Runs++
	}
	for i := range cells {
		c := &cells[i]
		n := float64(c.Runs)
		for _, sum := range []*band.Log{&c.GPUs, &c.MicroBatches, &c.Active, &c.Seq, &c.MBS} {
			*sum /= band.Log(n)
		}
		c.NonCompute, c.Traffic, c.Error = c.NonCompute/n, c.Traffic/n, c.Error/n
		c.Off /= n
		list := in[i]
		slices.SortStableFunc(list,
			func(a, b *Errors) int { return cmp.Compare(math.Abs(a.Log), math.Abs(b.Log)) })
		c.Title, c.Example = list[0].Group.Title, list[len(list)/2].Example
		all := float64(per[c.Release])
		c.Weight = n / math.Sqrt(all) * min(1, math.Sqrt(mostRuns/all))
	}
	return cells, publishers
}

// scaled returns the error of a run over rho. One of a step time counts as the prior at
// most: a run that is off by a factor of four says no more than that nothing is known.
func scaled(t *band.Table, r *Errors) float64 {
	e := math.Abs(r.Log) / t.Rho(&r.Traits)
	if t.Memory {
		return e
	}
	return min(e, t.Prior)
}

// Table makes the cells of some runs and finds the factor; scales and prior are those of
// the table given.
func Table(scales *band.Table, runs []Errors) (*band.Table, []string) {
	t := &band.Table{
		Prior: scales.Prior, PriorWeight: scales.PriorWeight, Memory: scales.Memory,
		Scales: scales.Scales,
	}
	var publishers []string
	t.Cells, publishers = Cells(t, runs)
	for _, of := range []struct {
		into *band.Range
		get  func(*band.Traits) band.Log
	}{
		{&t.GPUs, func(x *band.Traits) band.Log { return x.GPUs }},
		{&t.Seq, func(x *band.Traits) band.Log { return x.Seq }},
		{&t.Active, func(x *band.Traits) band.Log { return x.Active }},
		{&t.MBS, func(x *band.Traits) band.Log { return x.MBS }},
	} {
		of.into.Least = band.Log(math.Inf(1))
		for i := range runs {
			v := of.get(&runs[i].Traits)
			of.into.Least, of.into.Most = min(of.into.Least, v), max(of.into.Most, v)
		}
	}
	t.BuildIndex()
	t.Factor, t.Classes = factors(t, runs)
	return t, publishers
}

// nineOfTen is the share of runs that a band holds, their own release left out; leastShown
// the share that it holds at least when nothing is left out.
const nineOfTen, leastShown = 0.9, 0.85

// Classes of at least so many runs have at least such a share of them inside the bands.
const (
	classRuns   = 15
	classInside = 0.75
)

// factors returns the 90 % quantile of the errors over their band without a factor, each
// run with its own release left out: the larger one of that over the runs and that over
// the releases, each counting with the root of its runs; more where too few runs lie
// inside the band that is shown; and a larger one for each class of runs that needs it.
func factors(t *band.Table, runs []Errors) (all float64, classes []band.ClassFactor) {
	per := map[string]float64{}
	for i := range runs {
		per[runs[i].Group.Series]++
	}
	ratios, shown := make([]float64, len(runs)), make([]float64, len(runs))
	rows, releases := make([]float64, len(runs)), make([]float64, len(runs))
	lists := map[class][]float64{}
	for i := range runs {
		r := &runs[i]
		n := per[r.Group.Series]
		ratios[i], shown[i] = math.Abs(r.Log)/t.Log(&r.Traits, r.Group.Series),
			math.Abs(r.Log)/t.Log(&r.Traits, "")
		rows[i], releases[i] = min(1, mostRuns/n), min(math.Sqrt(n), math.Sqrt(mostRuns))/n
		lists[classOf(r)] = append(lists[classOf(r)], ratios[i])
	}
	up := func(v float64) float64 { return math.Ceil(1000*v) / 1000 }
	all = up(max(weighted(ratios, rows, nineOfTen), weighted(ratios, releases, nineOfTen),
		weighted(shown, rows, leastShown)))
	for c, list := range lists {
		if f := up(weighted(list, nil, classInside)); len(list) >= classRuns && f > all {
			classes = append(classes, band.ClassFactor{
				Experts: c.experts, Generation: c.generation,
				Stack: c.stack, Factor: f,
			})
		}
	}
	slices.SortFunc(classes, func(a, b band.ClassFactor) int {
		return cmp.Or(cmp.Compare(b2i(a.Experts), b2i(b.Experts)), cmp.Compare(a.Generation, b.Generation),
			cmp.Compare(a.Stack, b.Stack))
	})
	return all, classes
}

// weighted returns the least value below which a share of the weights lies; nil: each
// counts one.
func weighted(values, weights []float64, share float64) float64 {
	order := make([]int, len(values))
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	all := 0.0
	for i := range order {
		order[i] = i
		all += weight(i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	sum := 0.0
	for _, i := range order {
		if sum += weight(i); sum >= share*all {
			return values[i]
		}
	}
	return math.NaN()
}

var _ Library = (*presets.Library)(nil)
