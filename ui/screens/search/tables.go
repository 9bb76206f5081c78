package search

import (
	"strconv"

	"meshscope/engine/record"
	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// Tables returns the ranked layouts that the screen lists, for a file.
func (v *View) Tables(in *screen.Context) []report.Table {
	if v.answer == nil || in.Setup == nil || v.answer.of != (query{base(in.Setup), v.chosen}) {
		return nil
	}
	title := "layouts, the best first"
	if v.answer.forMargin {
		title += "; 1 is " + find.MarginRule
	}
	if r := &v.answer.result; r.partial {
		title += " (partial: " + figure.Percent(r.share) + " of the space searched)"
	}
	t := report.Table{Title: title, Head: []string{
		"place", "GPUs", "sequence", "DP", "TP", "PP", "VPP", "CP", "EP", "ETP", "ZeRO", "micro-batch",
		"micro-batches", "SP", "schedule", "recompute",
		"step", "tokens/s/GPU", "MFU", "peak", "bubble", "exposed", "fits", "on the front", "current",
	}}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		s := &r.setup
		place := strconv.Itoa(r.rank)
		if r.rank == 0 {
			place = "front" // beyond the listed ones
		}
		cells := []report.Cell{report.Word(place)}
		for _, n := range []int{
			s.GPUs, s.Seq, s.DP, s.TP, s.PP, s.VPP, s.CP, s.EP, s.ETP, s.ZeRO, s.MBS,
			s.MicroBatches,
		} {
			cells = append(cells, report.Figure(record.Count, float64(n)))
		}
		t.Rows = append(t.Rows, append(
			cells, report.YesNo(s.SP), report.Word(string(s.Schedule)), report.Word(s.Recompute.String()),
			report.Figure(record.Seconds, float64(r.step)), report.Figure(record.Tokens, r.perGPU),
			report.Figure(record.Share, r.mfu),
			report.Figure(record.Memory, float64(r.peak)), report.Figure(record.Share, r.bubble),
			report.Figure(record.Share, r.comm), report.YesNo(r.fits), report.YesNo(r.front),
			report.YesNo(same(s, in.Setup))))
	}
	return []report.Table{t}
}
