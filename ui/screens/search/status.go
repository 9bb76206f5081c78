package search

import (
	"strings"

	"meshscope/engine"
	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Status says the whole layout under the cursor, or what a knob does.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	if v.table.Typing && v.table.Wrong != "" {
		return in.Cut(v.table.Wrong, w)
	}
	if v.inKnob {
		if v.entry.on || v.entry.wrong != "" {
			return in.Cut(v.entryStatus(), w)
		}
		return in.Cut(v.knob.label()+": "+v.knob.row().help, w)
	}
	if v.guide.open {
		return in.Cut(v.guideStatus(in), w)
	}
	if v.inPicture {
		switch v.picture {
		case heatPicture:
			return in.Cut(v.heatStatus(in), w)
		case measuredPicture:
			return in.Cut(v.measuredStatus(), w)
		case scatterPicture, pictures:
		}
	}
	if v.foundNothing() {
		return in.Cut(v.nothingStatus(), w)
	}
	r := v.table.Under(v.shown(in))
	if r == nil {
		return ""
	}
	if c := &v.table.All[v.table.Column]; v.table.Asked {
		return in.Cut(c.Head+": "+c.Help, w)
	}
	return in.Cut(v.rowStatus(in, r, w), w)
}

// rowStatus returns what the table does not show of a layout: how it compares with the
// current setup, then the knobs that have no column.
func (v *View) rowStatus(in *screen.Context, r *row, w int) string {
	text := v.besideOwn(in, r)
	if r.Rank == 1 && v.answer.forMargin {
		const end = "; "
		text += in.Longest(w-widget.Width(text+end), find.MarginRule, find.MarginBrief) + end
	}
	if words := r.Doubt(in.Glyphs.PlusMinus); words != "" {
		text += words + "; "
	}
	shown := map[string]bool{}
	for _, i := range v.form(in, v.arrange(w, plotFrom).w).Cols {
		shown[v.table.All[i].ID] = true
	}
	if rest := report.LayoutWords(&r.Setup, func(id string) bool { return shown[id] }); rest != "" {
		text += rest + "; "
	}
	return text + v.spentWords(in, r)
}

// besideOwn returns how much faster a layout is than the current setup: by its tokens, and
// where it has another number of GPUs by those of each GPU too.
func (v *View) besideOwn(in *screen.Context, r *row) string {
	own := v.own(in)
	if own == nil || r.Current || own.PerGPU <= 0 || r.PerGPU <= 0 {
		return ""
	}
	than := " than yours"
	if r.Setup.GPUs != own.Setup.GPUs {
		all := r.PerGPU * float64(r.Setup.GPUs) / (own.PerGPU * float64(own.Setup.GPUs))
		than = " per GPU and " + moreWords(all) + " in total" + than + " on " +
			figure.Plural(own.Setup.GPUs, "GPU")
	}
	switch own.Fit {
	case engine.Over:
		than += ", which does not fit"
	case engine.Tight:
		than += ", which is tight"
	case engine.Fits:
	}
	return moreWords(r.PerGPU/own.PerGPU) + " tokens/s" + than + "; "
}

// moreWords say a ratio as so much more or less.
func moreWords(ratio float64) string {
	percent := 100 * (ratio - 1)
	if percent < 0 {
		return strings.TrimPrefix(figure.Signed(percent, 1), "-") + " % fewer"
	}
	return strings.TrimPrefix(figure.Signed(percent, 1), "+") + " % more"
}

// spentWords returns what a layout loses its time to, compared with what the current setup
// does: most of the reason for its place.
func (v *View) spentWords(in *screen.Context, r *row) string {
	comm, bubble := "exposed traffic "+figure.Percent(r.Exposed), "bubble "+figure.Percent(r.Bubble)
	if own := v.own(in); own != nil && !r.Current {
		comm += " (yours " + figure.Percent(own.Exposed) + ")"
		bubble += " (yours " + figure.Percent(own.Bubble) + ")"
	}
	return comm + ", " + bubble
}

// seconds writes how long a search took.
func seconds(s float64) string {
	if s < 0.0995 {
		return figure.Three(s*1000) + " ms"
	}
	return figure.Three(s) + " s"
}
