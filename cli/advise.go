package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine/advise"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// maxMoves is the most moves that --moves takes.
const maxMoves = 100

func (a *app) adviseCommand() *cobra.Command {
	var output outputFlags
	var launcher launcherFlag
	flags := setupFlags{launcher: &launcher}
	var headroom, deadline string
	moves := 8
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Show what would make a layout fit, or make it faster",
		Long: "Show why a layout does not fit and which changes would make it fit, or, if it fits, how the " +
			"step time is spent and which changes make it faster. " +
			"The number of GPUs, the global batch and the sequence length stay fixed; changes of the " +
			"numbers that training computes with come last.\n\n" +
			"Every move is applied and evaluated: all single-knob changes, all pairs, triples that extend " +
			"the most promising pairs, the changes " +
			"that lead to the best layout of 'search', and further changes from there. The fewest changes " +
			"come first, and where the setup is sharded data parallelism alone (FSDP, DeepSpeed) those " +
			"that bring no TP, PP or CP. Common rules of thumb are listed with the model's prediction, " +
			"including those it contradicts.\n\n" +
			"Exit code: 0 the layout fits, 1 run-time error, 2 usage error, 3 illegal layout, 4 it does " +
			"not fit.",
		Example: "meshscope advise --model llama3.1-70b --gpus 64 --tp 2 --pp 2 --gbs 512\nmeshscope " +
			"advise --setup run.toml --json",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, reportFormats(), string(report.JSON))
	cmd.Flags().Var(within(&moves, 1, maxMoves, ""), "moves",
		fmt.Sprintf("how many moves to list, 1 to %d", maxMoves))
	cmd.Flags().StringVar(&headroom, "headroom", autoHeadroom, "share of usable memory that a move must "+
		"leave free, such as 5% or 0; auto: 5% or the error band of its memory, whichever is larger")
	cmd.Flags().StringVar(&deadline, "deadline", "",
		"longest run for --tokens, such as 30d or 6w: changes that meet it are marked")
	launcher.register(cmd)
	flags.register(a, cmd)
	cmd.RunE = a.asked(&output, &flags, func(cmd *cobra.Command) error {
		share, err := parseHeadroom(headroom)
		if err != nil {
			return err
		}
		s, chosen, err := flags.start(cmd.Context(), a)
		if err != nil {
			return err
		}
		flags.sayTaken(a, "", &s, chosen)
		var longest float64
		if deadline != "" {
			if longest, err = parseDays(deadline); err != nil {
				return err
			}
			if s.Budget == 0 {
				return &usageError{"--deadline needs --tokens: the duration of a run depends on its number " +
					"of tokens"}
			}
		}
		options := advise.Options{
			Moves: moves, Accepts: launcher.accepts(&s), Headroom: share,
			Limited: headroom != autoHeadroom,
		}
		got, ok := advise.For(s, options)
		if !ok {
			return a.noFigures(s, output.format, &flags)
		}
		of := report.Advice{
			Advice: &got, Library: a.lib, UnsetBatch: flags.ownBatch, Chosen: chosen,
			Tornado: tornado(got.Knobs), Deadline: units.Seconds(longest),
		}
		if longest > 0 && !of.InTime() {
			p := got.Problem(options)
			p.Deadline, p.Tokens = of.Deadline, s.Budget
			of.Missed = p.Missed(cmd.Context(), flags.ownBatch)
		}
		answer := of.Answer(version)
		answer.Chosen = chosen
		if err = a.print(output.format, answer); err != nil {
			return err
		}
		return verdict(&got.Report)
	})
	return cmd
}

// tornadoWidth is the length of the bars of the tornado, in cells.
const tornadoWidth = 40

// tornado draws one bar per knob, all on one logarithmic scale.
func tornado(knobs []advise.Knob) *report.Tornado {
	signs := widget.TornadoSigns(showsUnicode())
	var sides []widget.Sides
	for i := range knobs {
		k := knobs[i].Expected()
		sides = append(sides, overlay.Sides(&k))
	}
	scale := widget.NewTornado(sides, tornadoWidth)
	out := &report.Tornado{Axis: scale.Axis, Legend: fmt.Sprintf("%s values that fit, %s values that do "+
		"not fit; logarithmic scale: half and twice are equally far from now; %s the bar is cut off",
		signs[widget.TornadoFits], signs[widget.TornadoOverMemory], signs[widget.TornadoBeyond])}
	for _, side := range sides {
		var bar strings.Builder
		for _, c := range scale.Cells(side) {
			bar.WriteString(signs[c])
		}
		out.Bars = append(out.Bars, bar.String())
	}
	return out
}
