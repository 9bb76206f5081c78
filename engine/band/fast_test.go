package band

import (
	"math"
	"testing"
)

// TestDistanceIsTheSumOfItsParts holds the packed distances against the parts that words
// are made from, over all pairs of a varied list.
func TestDistanceIsTheSumOfItsParts(t *testing.T) {
	table := Table{Scales: Scales{
		Unknown: 2, Generation: 0.09, Vendor: 1, Family: 0.15, EPAcross: 3,
		BeyondRange: 1,
	}}
	for f := range Features {
		table.Scales.Of[f] = 0.1 * float64(f)
	}
	for i := range 256 {
		bit := func(k int) bool { return i>>k&1 == 1 }
		x := Traits{
			GPU: string(rune('a' + i%5)), Generation: string(rune('a' + i%3)),
			Vendor: string(rune('a' + i%3/2)), Stack: string(rune('a' + i%4)),
			Family:  string(rune('a' + i%2)),
			Experts: bit(0), Pipeline: bit(1), ZeRO3: bit(2), PCIe: bit(3), Recompute: bit(4),
			TP: Reach(i % 3), CP: Reach(i / 3 % 3), EP: Reach(i / 9 % 3),
			Bits: []int{8, 16, 32}[i%3], GPUs: Log(i % 7), MicroBatches: Log(i % 6), Active: Log(20 + i%11),
			Seq: Log(9 + i%8), NonCompute: float64(i%10) / 10, Traffic: float64(i%13) / 10,
		}
		table.Cells = append(table.Cells, Cell{Traits: x})
	}
	table.BuildIndex()
	var p parts
	for i := range table.Cells {
		x := table.quick.pack(&table.Cells[i].Traits)
		for k := range table.Cells {
			table.apart(&p, &table.Cells[i].Traits, &table.Cells[k])
			if got, want := table.quick.kind(&x, &table.packed[k])+size(&x.counts, &table.packed[k].counts),
				p.sum(); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%d and %d: %v, the parts add up to %v", i, k, got, want)
			}
		}
	}
}

// TestDecay holds decay against math.Exp.
func TestDecay(t *testing.T) {
	var table Table
	table.BuildIndex()
	for d := 0.0; d < far; d += 0.000917 {
		if got, want := table.quick.decay(d), math.Exp(-d)-math.Exp(-far); math.Abs(got-want) > 4e-5 {
			t.Fatalf("decay(%v) = %v, wanted %v", d, got, want)
		}
	}
	if got := table.quick.decay(math.NaN()); got != 0 {
		t.Errorf("a distance that is no number weighs %v", got)
	}
}
