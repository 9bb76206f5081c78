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
	takes, why := "; a step takes ", ""
	if m.Fit == engine.Over {
		takes = "; a step would take "
	}
	long, short := takes, "; step "
	for _, words := range endings(report.Loss(r), in.Prices) {
		if takes = long; widget.Width(verdict+takes+step+words)+1 > w {
			takes, words = short, strings.Replace(words, ", of which ", "; ", 1)
		}
		if why = words; widget.Width(verdict+takes+step+why)+1 <= w {
			break
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
