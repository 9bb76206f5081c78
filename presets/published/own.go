package published

import (
	"fmt"

	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// Own returns the measured runs that the user's own fitted calibrations were fitted to, a group
// for each calibration. A run whose setup can no longer be read is left out.
func Own(lib *presets.Library) (out []Group) {
	for _, c := range lib.Calibrations() {
		if len(c.Runs) == 0 {
			continue
		}
		g := Group{
			ID: c.ID, Title: "your runs, " + c.ID, Source: c.Source, Series: c.ID, Publisher: c.ID,
			Fitted: true,
			FittedTo: fmt.Sprintf("the calibration %s; error of each run predicted by a fit without it: "+
				"%.1f %%", c.ID, 100*c.HeldError),
		}
		for i := range c.Runs {
			r := &c.Runs[i]
			doc, err := setupdoc.Shared(r.Setup)
			if err != nil {
				continue
			}
			s, err := doc.Setup(lib)
			if err != nil {
				continue
			}
			run := Run{ID: r.Name, Setup: s, Step: r.Measured, Source: "your own measurement"}
			if run.Memory, run.Kind = r.Reserved, Reserved; r.Reserved == 0 {
				run.Memory, run.Kind = r.Allocated, Allocated
			}
			g.Runs = append(g.Runs, run)
		}
		out = append(out, g)
	}
	return out
}
