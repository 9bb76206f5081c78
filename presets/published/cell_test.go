package published

import (
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/presets"
)

const cellHead = `id = "mine"
title = "Mine"
source = "a test"
fitted = false
constants = "none"
memory_rank = "first"

[common]
calibration = "nanotron"
seq = 4096

[[cell]]
setup = {model = "playbook-1b", cluster = "hf-p5-playbook", gpus = 8}
columns = ["tp", "pp", "mbs", "gbs"]
`

// TestCells: a line of a cell is a run with its figures, one out of memory has
// none; a line of the wrong length, without a figure or with an illegal layout is
// refused by name.
func TestCells(t *testing.T) {
	read := func(lines string) (Group, error) {
		return read(fstest.MapFS{"mine.toml": {Data: []byte(cellHead + lines)}}, "mine.toml",
			presets.Default())
	}
	g, err := read("runs = [[7, 2, 1, 4, 256, 1.5, 20.25]]\nout_of_memory = [[8, 1, 2, 64, 256]]\n")
	if err != nil || len(g.Runs) != 1 {
		t.Fatalf("%+v, %v", g, err)
	}
	failed, err := g.OutOfMemory(presets.Default())
	if err != nil || len(failed) != 1 {
		t.Fatalf("%+v, %v", failed, err)
	}
	if r := g.Runs[0]; r.ID != "7" || r.Setup.TP != 2 || r.Setup.MBS != 4 || r.Setup.GBS != 256 ||
		r.Step != 1.5 || r.Memory != 20.25 || r.Rank != FirstRank {
		t.Errorf("%+v", r)
	}
	if r := failed[0]; r.ID != "8" || r.Setup.PP != 2 || r.Setup.MBS != 64 || r.Step != 0 || r.Memory != 0 {
		t.Errorf("%+v", r)
	}
	for lines, want := range map[string]string{
		"runs = [[7, 2, 1, 4, 256, 1.5]]":       "a line of 6 values",
		"out_of_memory = [[7, 2, 1]]":           "a line of 3 values",
		"runs = [[7, 2, 1, 4, 256, 0.0, 0.0]]":  "run 7: an id and a positive step_seconds",
		"runs = [[7, 2, 1, 4, 256, -1.0, 1.0]]": "run 7: an id and a positive step_seconds",
		"runs = [[7, 3, 1, 4, 256, 1.0, 1.0]]":  "run 7: ",
	} {
		g, err := read(lines)
		if err == nil {
			_, err = g.OutOfMemory(presets.Default())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
	}
}
