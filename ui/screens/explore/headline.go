package explore

import (
	"strings"

	"meshscope/engine"
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
	verdict, step := report.Verdict(m), bandOf(in, &t.Evidence).Of(figure.Seconds(t.Step))
	takes := "; a step takes "
	if m.Fit == engine.Over {
		takes = "; a step would take "
	}
	why := ""
	if loss := report.Loss(r); loss != "" {
		why = ", " + loss
		if widget.Width(verdict+takes+step+why)+1 > w { // in fewer words
			takes, why = "; step ", ", "+strings.TrimPrefix(loss, "of which ")
		}
		if widget.Width(verdict+takes+step+why)+1 > w {
			why = ""
		}
	}
	l.Put(in.Paint(role), verdict).Put(in.Paint(themes.Text), takes).Put(in.Paint(themes.Strong), step)
	return l.Put(in.Paint(themes.Text), why+".").String()
}
