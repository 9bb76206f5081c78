package presets_test

import (
	"testing"

	"meshscope/presets"
)

// What one cold look-up costs at the start of the program.
func BenchmarkOneModelCold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := presets.Fresh().Model("llama3.1-70b"); err != nil {
			b.Fatal(err)
		}
	}
}

// A cluster needs its GPU and perhaps the table of links.
func BenchmarkOneClusterCold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := presets.Fresh().Cluster("meta-roce-24k"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOneModelWarm(b *testing.B) {
	l := presets.Fresh()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Model("llama3.1-70b"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEveryPresetCold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := presets.Fresh()
		if len(l.Models())+len(l.GPUs())+len(l.Clusters()) < 180 {
			b.Fatal("presets are missing")
		}
	}
}

func BenchmarkUnknown(b *testing.B) {
	l := presets.Fresh()
	for b.Loop() {
		if _, err := l.Model("lama-3-70b"); err == nil {
			b.Fatal("found")
		}
	}
}
