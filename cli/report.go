package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/launch"
	"meshscope/report"
)

func (a *app) reportCommand() *cobra.Command {
	var output outputFlags
	var launcher launcherFlag
	flags := setupFlags{launcher: &launcher}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write a page about one layout to decide by",
		Long: "Write a page about one layout to decide by: model and machine, the layout, whether it fits " +
			"and with what margin, the step with its error band, " +
			"days, GPU-hours, cost and energy of the whole run, three other layouts, what they gain and " +
			"lose, what the figures rest on, and how they were obtained. " +
			"--format markdown and html are for a document or a ticket; the HTML page needs no other " +
			"file.\n\n" +
			"If none of dp, tp, pp, cp, ep and zero is given, the layout is the best one of 'search'. " +
			"--tokens gives the whole run.\n\n" +
			"Exit code: 0 the layout fits, 1 run-time error, 2 usage error, 3 illegal layout, 4 it does " +
			"not fit.",
		Example: "meshscope report --model llama3.1-70b --nodes 32 --tokens 2T\nmeshscope report --setup " +
			"run.toml --format html > decision.html",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, []string{textFormat, string(report.Markdown), string(report.HTML)},
		string(report.HTML))
	launcher.register(cmd)
	flags.register(a, cmd)
	cmd.RunE = a.asked(&output, &flags, func(cmd *cobra.Command) error {
		s, chosen, err := flags.start(cmd.Context(), a)
		if err != nil {
			return err
		}
		d, rules := report.NewDecision(s, engine.Evaluate(s)), ""
		if d.Report.Legal {
			space, whose := launcher.space(&s)
			if rules = whose; chosen != nil {
				space = chosen.Space
			}
			if space.Accepts == nil {
				rules = ""
			}
			d = report.Decide(cmd.Context(), s, d.Report, space, runtime.GOMAXPROCS(0))
		}
		d.Prices = advise.Prices(&s, &d.Report, flags.fixed, launch.AcceptsFrom(&s), nil)
		d.Library, d.Version, d.Chosen, d.Rules, d.Pipeline = a.lib, version, chosen, rules,
			pagePicture(&d.Report)
		if flags.noGPUs {
			d.Taken = gpusTaken(&s)
		}
		if err := a.print(output.format, d.Answer()); err != nil {
			return err
		}
		return verdict(&d.Report)
	})
	return cmd
}
