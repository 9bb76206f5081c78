package pipeline

import (
	"fmt"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/report/figure"
)

// paceFacts are what the cursor's rank has to do and what its idle time is made of.
func (v *View) paceFacts(b *block, rank int) [][2]string {
	line := b.line
	out := [][2]string{{fmt.Sprintf("rank %d", rank), pace(b, rank, fullest(line))}}
	if st := &line.Ranks[rank]; st.Idle > 0 && line.Makespan > 0 {
		out = append(out, [2]string{"its waiting", idleText(v.waits(line, rank), st.Idle, line.Makespan)})
	}
	return out
}

// fullest is the rank with the most to do in the step.
func fullest(line *schedule.Timeline) int {
	most := 0
	for r := range line.Ranks {
		if line.Ranks[r].Busy > line.Ranks[most].Busy {
			most = r
		}
	}
	return most
}

func layers(n int) string {
	if n == 1 {
		return "1 layer"
	}
	return fmt.Sprintf("%d layers", n)
}

// pace is what a rank takes for a micro-batch, beside the rank with most to do.
func pace(b *block, rank, most int) string {
	own := func(r int) string {
		f, back := b.line.PerMicroBatch(r)
		text := fmt.Sprintf("F %s and B %s", seconds(f), seconds(back))
		if m := b.report.Memory; m != nil && r < len(m.Ranks) && m.Ranks[r].Layers > 0 {
			text = layers(m.Ranks[r].Layers) + ", " + text
		}
		return text
	}
	text := own(rank) + " a micro-batch"
	switch {
	case rank == most:
		text += "; no rank has more to do"
	case b.line.Ranks[most].Busy > b.line.Ranks[rank].Busy*1.005:
		text += fmt.Sprintf("; the one with most to do, rank %d: %s", most, own(most))
	default:
		text += fmt.Sprintf("; as much to do as the fullest, rank %d", most)
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
		{w.Paced, "for ranks with more to do"},
		{w.Between, "for the order of the operations"},
		{w.Drain, "drain"},
		{w.HandOver, "for hand-overs"},
	} {
		if part.share/whole >= 0.0005 {
			parts = append(parts, figure.Percent(part.share/whole)+" "+part.name)
		}
	}
	return figure.Percent(idle/whole) + " of the pipeline's time: " + strings.Join(parts, ", ")
}

// overlapped says what a pair of the rank hides; empty where nothing runs paired.
func overlapped(b *block, rank int) string {
	line := b.line
	o := line.Order
	for k := o.Start[rank]; k+1 < o.Start[rank+1]; k++ {
		if !o.Ops[k].Paired() {
			continue
		}
		alone := line.Last(o.Ops[k].Kind(), o.Stage(rank, o.Ops[k])) + line.Last(o.Ops[k+1].Kind(), o.Stage(rank, o.Ops[k+1]))
		most := fullest(line)
		return fmt.Sprintf("%s & %s take %s together, %s one after the other: the expert all-to-all of one hides under the other, at no cost (assumed); saves %s on rank %d",
			o.Ops[k].Kind(), o.Ops[k+1].Kind(), seconds(line.End[k]-line.Begin[k]), seconds(alone), seconds(line.Ranks[most].Saved), most)
	}
	return ""
}
