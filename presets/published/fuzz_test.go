package published

import (
	"io/fs"
	"math"
	"testing"
	"testing/fstest"

	"meshscope/presets"
)

// FuzzRead reads any text as a group of published runs: what is taken names its source and has runs
// with finite measurements.
func FuzzRead(f *testing.F) {
	names, err := fs.Glob(files, "*.toml")
	if err != nil || len(names) == 0 {
		f.Fatal("no groups", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 8<<10 {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := read(fstest.MapFS{"x.toml": &fstest.MapFile{Data: []byte(text)}}, "x.toml",
			presets.Default())
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		if g.Source == "" || g.Title == "" {
			t.Fatalf("a group without source or title: %+v", g)
		}
		for i := range g.Runs {
			r := &g.Runs[i]
			for _, v := range []float64{r.Step, r.Memory} {
				if !(v >= 0) || math.IsInf(v, 0) {
					t.Fatalf("a run of %v s and %v GiB", r.Step, r.Memory)
				}
			}
		}
	})
}
