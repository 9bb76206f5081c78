package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

func (a *app) evalCommand() *cobra.Command {
	var flags setupFlags
	var output outputFlags
	var batch fileName
	var allowFiles bool
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate one layout, or a file of them",
		Long: "Evaluate one layout: memory of every pipeline rank, bubble, communication, step time, " +
			"throughput.\n\n" +
			"If none of dp, tp, pp, cp, ep and zero is given, every knob that is not given comes from the " +
			"best layout of 'search' (layout_chosen in JSON). Otherwise:\n\n" +
			"Values that are not given are derived (gpus = dp x tp x pp x cp, gbs = mbs x microbatches x " +
			"dp) or have a default: " +
			"batch, sequence, precision and dispatcher of the published run of the model nearest in GPUs " +
			"on this generation of them, " +
			"else 4 " + knob.BatchDepthUnit + " (near 16 of adapters), 8192 tokens or the model's own " +
			"length, bf16, alltoall; " +
			"8 nodes, every degree 1, mbs 1, sp with tp, zero 1, 1f1b (interleaved with vpp), no " +
			"recompute, bf16 with fp32 gradients, adam, flash attention. " +
			"The textbook stack has zero 0 and standard attention instead. Numbers may end in k or M, " +
			"which are powers of two: " +
			"--seq 8k is --seq 8192; a global batch in tokens is --gbs 4Mtok.\n\n" +
			"Exit code: 0 legal and fits, 1 run-time error, 2 usage error, 3 illegal layout, 4 legal but " +
			"does not fit. " +
			"With --batch it is 0 if every line was answered, even by an error or an illegal layout.",
		Example: "meshscope eval --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --gbs 512\n" +
			"meshscope eval --setup run.toml --recompute full --json\n" +
			"meshscope eval --tp 8 --pp 2 --format markdown > layout.md\n" +
			"meshscope eval --tp 8 --pp 2 --format toml > run.toml\n" +
			"meshscope eval --batch layouts.jsonl > reports.jsonl",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, append(reportFormats(), string(report.TOML)), string(report.JSON))
	cmd.Flags().Var(&batch, "batch", "evaluate a file with one JSON setup per line and print one report "+
		"per line; - is standard input; a line without a degree is searched, which takes tenths of a "+
		"second where others take a thousandth")
	cmd.Flags().BoolVar(&allowFiles, "allow-files", false, "let lines of --batch name a model file")
	flags.register(a, cmd)
	cmd.RunE = a.asked(&output, &flags, func(cmd *cobra.Command) error {
		if cmd.Flags().Changed("batch") {
			if cmd.Flags().Changed("format") && output.format != string(report.JSON) {
				return &usageError{fmt.Sprintf("--batch and --format %s contradict each other: a batch "+
					"prints JSON, one report per line", output.format)}
			}
			if flags.file != "" {
				return &usageError{"--batch and --setup contradict each other: the lines of a batch are " +
					"the setups"}
			}
			return a.evalBatch(cmd.Context(), string(batch), &flags, allowFiles)
		}
		if allowFiles {
			return &usageError{"--allow-files needs --batch; without --batch, --model may name a file"}
		}
		s, chosen, err := flags.start(cmd.Context(), a)
		if err != nil {
			return err
		}
		r := engine.Evaluate(s)
		if err := a.printReport(output.format, &s, &r, &flags, chosen); err != nil {
			return err
		}
		return verdict(&r)
	})
	return cmd
}

// printReport prints a report of a setup of flags in a format. chosen tells how its layout was found where
// none was given.
func (a *app) printReport(format string, s *engine.Setup, r *engine.Report, of *setupFlags,
	chosen *search.Chosen,
) error {
	if of.sequences {
		r.Problems = knob.GivenBatch(r.Problems, s)
	}
	if of.noGPUs && r.Legal {
		r.Assumptions = slices.Insert(r.Assumptions, 0, gpusTaken(s))
	}
	d := report.NewEvaluation(version, *s, *r)
	d.UnsetBatch, d.Chosen, d.Partial = of.ownBatch, chosen, of.partial()
	if !r.Legal { // nor would a search with it find any
		d.Partial, _, _ = strings.Cut(d.Partial, ";")
	}
	if format == "" || format == textFormat {
		d.Prices = advise.Prices(s, r, of.fixed, launch.AcceptsFrom(s), nil)
	}
	if flags, ok := setupdoc.Flags(*s, a.lib); ok {
		d.Command = "meshscope " + flags
	}
	return a.print(format, d.Answer())
}

// verdict returns the exit code of a report as an error; nil if the layout is legal and fits.
func verdict(r *engine.Report) error {
	switch {
	case !r.Legal:
		return outcome(exitIllegal)
	case r.Memory != nil && !r.Memory.Fits:
		return outcome(exitNoFit)
	}
	return nil
}

// writeJSON prints a document as JSON. Keys have the order of the struct.
func (a *app) writeJSON(document any) error {
	return report.WriteJSON(a.stdout, report.Preface{Notices: a.notices}.Before(document))
}
