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
	forms := []string{"; a step takes ", "; step ", "; "} // the last rather than no price
	if m.Fit == engine.Over {
		forms = []string{"; a step would take ", "; step "}
	}
	takes, why := "", ""
choosing:
	for _, words := range endings(report.Loss(r), in.Prices) {
		for i, form := range forms {
			if takes, why = form, words; i > 0 {
				why = strings.Replace(words, ", of which ", "; ", 1)
			}
			if widget.Width(verdict+takes+step+why)+1 <= w {
				break choosing
			}
		}
	}
	l.Put(in.Paint(role), verdict).Put(in.Paint(themes.Text), takes).Put(in.Paint(themes.Strong), step)
	return l.Put(in.Paint(themes.Text), why+".").String()
}

// endings returns what may follow a step, the most telling first: what it loses most time to and what was
// assumed, of that the dearest alone, and one without the other. The last one is nothing.
func endings(loss string, prices []string) (out []string) {
	if loss != "" {
		loss = ", " + loss
	}
	for n := min(len(prices), 2); n > 0; n-- {
		assumed := "; " + strings.Join(prices[:n], ", ")
		out = append(out, loss+assumed)
		if n == 1 {
			out = append(out, assumed)
		}
	}
	return append(out, loss, "")
}
