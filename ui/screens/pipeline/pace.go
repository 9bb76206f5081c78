package pipeline

import (
	"fmt"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/report/figure"
)

// paceFacts lists the work of the cursor's rank and the causes of its idle time; kinds, where given, stand in
// place of the number of its layers.
func (v *View) paceFacts(b *block, rank int, kinds string) [][2]string {
	line := b.line
	out := [][2]string{{fmt.Sprintf("rank %d", rank), pace(b, rank, slowestRank(line), kinds)}}
	if st := &line.Ranks[rank]; st.Idle > 0 && line.Makespan > 0 {
		out = append(out, [2]string{"its idle time", idleText(v.waits(line, rank), st.Idle, line.Makespan)})
	}
	return out
}

// slowestRank returns the rank with the longest busy time in the step.
func slowestRank(line *schedule.Timeline) int {
	most := 0
	for r := range line.Ranks {
		if line.Ranks[r].Busy > line.Ranks[most].Busy {
			most = r
		}
	}
	return most
}

// pace describes the time a rank takes for a micro-batch, compared with the slowest rank.
func pace(b *block, rank, most int, kinds string) string {
	own := func(r int) string {
		f, back := b.line.PerMicroBatch(r)
		text := fmt.Sprintf("F %s and B %s", seconds(f), seconds(back))
		if m := b.report.Memory; m != nil && r < len(m.Ranks) && m.Ranks[r].Layers > 0 {
			layers := figure.Plural(m.Ranks[r].Layers, "layer") + ", "
			if r == rank && kinds != "" {
				layers = "layers " + kinds + "; "
			}
			text = layers + text
		}
		return text
	}
	text := own(rank) + " per micro-batch"
	switch {
	case rank == most:
		text += "; the slowest rank"
	case b.line.Ranks[most].Busy > b.line.Ranks[rank].Busy*1.005:
		text += fmt.Sprintf("; slowest rank: %d, %s", most, own(most))
	default:
		text += fmt.Sprintf("; as slow as the slowest rank, %d", most)
	}
	return text
}

// idleText splits a rank's idle time by cause, as shares of the pipeline's time.
func idleText(w schedule.Waits, idle, whole float64) string {
	var parts []string
	for _, part := range []struct {
		share float64
		name  string
	}{
		{w.WarmUp, "warm-up"},
		{w.Paced, "for slower ranks"},
		{w.Between, "for the order of operations"},
		{w.Drain, "drain"},
		{w.SendRecv, "for send/recv"},
	} {
		if part.share/whole >= 0.0005 {
			parts = append(parts, figure.Percent(part.share/whole)+" "+part.name)
		}
	}
	text := figure.Percent(idle/whole) + " of the pipeline's time"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// overlapped describes what a pair of the rank overlaps; empty where nothing is paired.
func overlapped(b *block, rank int) string {
	line := b.line
	o := line.Order
	for k := o.Start[rank]; k+1 < o.Start[rank+1]; k++ {
		if !o.Ops[k].Paired() {
			continue
		}
		alone := line.Last(o.Ops[k].Kind(), o.Stage(rank, o.Ops[k])) + line.Last(o.Ops[k+1].Kind(),
			o.Stage(rank, o.Ops[k+1]))
		most := slowestRank(line)
		return fmt.Sprintf("%s & %s take %s together, %s one after the other: the expert all-to-all of one "+
			"is overlapped with the other, at no cost (assumed); saves %s on rank %d",
			o.Ops[k].Kind(), o.Ops[k+1].Kind(), seconds(line.End[k]-line.Begin[k]), seconds(alone),
			seconds(line.Ranks[most].Saved), most)
	}
	return ""
}
