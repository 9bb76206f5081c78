package presets

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/presets/setupdoc"
)

// ownRuns returns the runs that the user's own calibrations of a machine were fitted to, as error
// bands compare them. A run whose setup cannot be read is left out.
func (files calibrationList) ownRuns(cluster string) (out []band.OwnRun) {
	e := engine.Evaluator{SkipTimeline: true}
	for i := range files {
		if f := &files[i]; f.Kind == kindFitted && slices.Contains(f.AppliesTo, cluster) {
			for k := range f.Runs {
				r := &f.Runs[k]
				doc, err := setupdoc.Shared(r.Setup)
				if err != nil || !(r.Measured > 0 && r.LeftOut > 0) {
					continue
				}
				s, err := doc.Setup(Default())
				if err != nil {
					continue
				}
				if report := e.Evaluate(s); report.Time != nil {
					out = append(out, band.OwnRun{
						Traits: engine.Traits(&s, &report, false),
						Error:  math.Abs(math.Log(r.LeftOut / r.Measured)),
					})
				}
			}
		}
	}
	return out
}
