package timeline

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine/schedule"
	"meshscope/ui/widget"
)

// BenchmarkChart draws the timeline of the budgets: 64 ranks, 512 micro-batches,
// 4 chunks, 262,144 operations.
func BenchmarkChart(b *testing.B) {
	tl := built(b, schedule.Spec{Kind: schedule.Interleaved, Ranks: 64, VirtualStages: 4, MicroBatches: 512},
		0)
	theme, g := themed(b, "dark", colorprofile.TrueColor), widget.NewGlyphs(true)
	for _, fold := range []bool{false, true} {
		b.Run(fmt.Sprintf("64x200/fold=%v", fold), func(b *testing.B) {
			v := Chart{Timeline: tl, Fold: fold}
			b.ReportAllocs()
			for b.Loop() {
				v.Render(theme, g, 200, 64)
			}
		})
	}
	b.Run("8x60/p=8/m=64", func(b *testing.B) {
		v := Chart{Timeline: built(b, oneFOneB(8, 64), 0), Fold: true}
		b.ReportAllocs()
		for b.Loop() {
			v.Render(theme, g, 60, 8)
		}
	})
}
