package report

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
)

// Records returns a row per layout: the best ones, then the Pareto front.
func (o *Search) Records() *Table {
	t := &Table{Head: []string{"list", "rank"}}
	for _, id := range search.Layout() {
		t.Head = append(t.Head, string(id))
	}
	t.Head = append(t.Head, "step_seconds", "pessimistic_step_seconds", "mfu", "tokens_per_second_per_gpu",
		"peak_bytes", "free_bytes", "error_band_step", "error_band_memory", "partial", "command")
	for _, list := range []struct {
		name  string
		found []search.Found
	}{{"best", o.Result.Best}, {"front", o.Result.Front}} {
		for i := range list.found {
			t.Rows = append(t.Rows, o.record(list.name, i+1, &list.found[i]))
		}
	}
	return t
}

func (o *Search) record(list string, rank int, f *search.Found) []Cell {
	s, r := &f.Setup, &f.Report
	row := []Cell{Word(list), Word(strconv.Itoa(rank))}
	for _, id := range search.Layout() {
		k, _ := knob.Find(id)
		row = append(row, Word(k.Text(*s)))
	}
	for _, v := range []float64{
		float64(r.Time.Step), float64(f.PessimisticStep), r.Throughput.MFU,
		r.Throughput.TokensPerSecondPerGPU, float64(r.Memory.Peak), float64(f.Free),
	} {
		row = append(row, Word(strconv.FormatFloat(v, 'g', -1, 64)))
	}
	return append(row, bandCell(&r.Time.Evidence), bandCell(&r.Memory.Evidence),
		Word(strconv.FormatBool(o.Result.Partial)), Word(EvalCommand(f.Setup, o.Library)))
}

// bandCell returns an error band for records.
func bandCell(e *engine.Evidence) Cell {
	return Word(strconv.FormatFloat(e.ErrorBand, 'g', -1, 64))
}
