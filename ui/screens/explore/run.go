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

// RunRows is the number of rows of the panel of the whole run.
const RunRows = 5

// Run draws the whole training run: days, GPU-hours, cost and energy of the token
// budget, and what they rest on.
func Run(in *screen.Context, w, h int) []string {
	r := in.Report.Run
	if r == nil || h < 2 {
		return widget.Height(nil, w, h)
	}
	exact := bandOf(in, &r.Evidence)
	detail := figure.Short(r.Tokens) + " tokens, " + figure.Short(r.Steps) + " steps"
	lines := []string{in.HeadingIn(themes.Strong, w, "WHOLE RUN", detail, exact.Of(figure.Days(r.Days)))}
	columns := []column{
		{names: [3]string{"days", "days", "days"}, value: figure.Three(r.Days)},
		{names: [3]string{"GPU-hours", "GPU-hours", "GPU-h"}, value: figure.Short(r.GPUHours)},
	}
	var rests []string
	if r.Cost != nil {
		columns = append(columns,
			column{names: [3]string{"cost", "cost", "cost"}, value: figure.Dollars(*r.Cost)})
		rests = append(rests, "$"+figure.Three(*r.Price)+" per GPU-hour"+assumed(in.Setup.Price <= 0,
			" (preset)"))
	} else {
		rests = append(rests, "cost unknown: set a price")
	}
	if r.Energy != nil {
		columns = append(columns, column{
			names: [3]string{"energy", "energy", "energy"},
			value: figure.Energy(*r.Energy),
		})
		rests = append(rests, figure.Short(*r.Power)+" W per GPU"+assumed(in.Setup.Power <= 0,
			" (TDP)")+", "+report.PowerOverGPUs(r))
	} else {
		rests = append(rests, "energy unknown: set a power")
	}
	rests = append(rests, "goodput "+figure.Percent(r.Goodput))
	put := func(text string) {
		lines = append(lines, widget.NewLine(w).Put(in.Paint(themes.Muted), widget.Cut(text, w)).String())
	}
	if out, ok := tableLines(in, columns, w); ok {
		lines = append(lines, out...)
	}
	if usual := engine.TypicalRun(in.Setup, in.Report.Time); usual != nil {
		put("typically " + report.RunBrief(usual) + " (r says with what)")
	}
	put(strings.Join(rests, "; "))
	return widget.Height(lines, w, h)
}

func assumed(yes bool, words string) string {
	if yes {
		return words
	}
	return ""
}
