package explore

import (
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Headline says in one sentence whether the setup fits, how long a step takes and what it loses most
// time to; blank where there are no figures.
func Headline(in *screen.Context, w int) string {
	l, r := widget.NewLine(w), in.Report
	m, t := r.Memory, r.Time
	if m == nil || t == nil || t.Step <= 0 {
		return l.String()
	}
	_, role := screen.Fit(m)
	l.Put(in.Paint(role), report.Verdict(m))
	takes := "; a step takes "
	if !m.Fits {
		takes = "; a step would take "
	}
	l.Put(in.Paint(themes.Text), takes).Put(in.Paint(themes.Strong), bandOf(in, &t.Evidence).Of(figure.Seconds(t.Step)))
	if why := report.Loss(r); why != "" && widget.Width(why)+2 <= l.Left() {
		l.Put(in.Paint(themes.Text), ", "+why)
	}
	return l.Put(in.Paint(themes.Text), ".").String()
}
