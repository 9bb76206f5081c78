package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"meshscope/engine"
)

// report is the document of eval --json: an engine.Report with its setup in
// front. Figures that an illegal setup does not have are absent; a legal setup
// without traffic has an empty list of it.
type report struct {
	SchemaVersion int                     `json:"schema_version"`
	Version       string                  `json:"version"`
	Setup         engine.Setup            `json:"setup"`
	Legal         bool                    `json:"legal"`
	Problems      []engine.Problem        `json:"problems"`
	Memory        *engine.Memory          `json:"memory,omitempty"`
	Pipeline      *engine.Pipeline        `json:"pipeline,omitempty"`
	Communication *[]engine.Communication `json:"communication,omitempty"`
	Time          *engine.Time            `json:"time,omitempty"`
	Throughput    *engine.Throughput      `json:"throughput,omitempty"`
	Model         *engine.ModelFigures    `json:"model,omitempty"`
	Assumptions   []string                `json:"assumptions"`
	NotModelled   []string                `json:"not_modelled"`
}

func newReport(s engine.Setup, r engine.Report) report {
	out := report{
		SchemaVersion: schemaVersion, Version: version, Setup: s,
		Legal: r.Legal, Problems: listed(r.Problems),
		Memory: r.Memory, Pipeline: r.Pipeline, Time: r.Time, Throughput: r.Throughput, Model: r.Model,
		Assumptions: listed(r.Assumptions), NotModelled: listed(r.NotModelled),
	}
	if r.Legal {
		traffic := listed(r.Communication)
		out.Communication = &traffic
	}
	return out
}

// listed is a list that is written as [] when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (a *app) evalCommand() *cobra.Command {
	var flags setupFlags
	var asJSON bool
	var batch fileName
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate one layout, or a file of them",
		Long: "Evaluate one layout: memory of every pipeline rank, bubble, traffic, step time, throughput.\n\n" +
			"What is not said is derived (gpus = dp x tp x pp x cp, gbs = mbs x microbatches x dp) or has a default: " +
			"8 nodes, every degree 1, mbs 1, 4 micro-batches per pipeline rank, sequences of 8192 tokens or the model's own " +
			"length, sp with tp, zero 1, 1f1b (interleaved with vpp), no recompute, bf16 with fp32 gradients, adam, flash attention. " +
			"The textbook stack has zero 0 and standard attention instead. A number may end in k or M, which count in powers of two: " +
			"--seq 8k is --seq 8192.\n\n" +
			"Exit code: 0 legal and fits, 1 run-time error, 2 usage, 3 illegal layout, 4 legal but does not fit.",
		Example: "meshscope eval --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --gbs 512\n" +
			"meshscope eval --setup run.toml --recompute full --json\n" +
			"meshscope eval --batch layouts.jsonl > reports.jsonl",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.Flags().Var(&batch, "batch", "file with one JSON setup per line; one report per line is written; - is standard input")
	flags.register(cmd)
	a.completeIDs(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, args); err != nil {
			return err
		}
		if cmd.Flags().Changed("batch") {
			if flags.file != "" {
				return &usageError{"--batch and --setup contradict each other: a batch brings its own setups"}
			}
			return a.evalBatch(string(batch), &flags)
		}
		s, err := flags.setup(a)
		if err != nil {
			return err
		}
		r := engine.Evaluate(s)
		if asJSON {
			err = a.writeJSON(newReport(s, r))
		} else {
			err = writeReport(a.stdout, &s, &r)
		}
		if err != nil {
			return err
		}
		return verdict(&r)
	})
	return cmd
}

// verdict is the exit code of a report.
func verdict(r *engine.Report) error {
	switch {
	case !r.Legal:
		return outcome(exitIllegal)
	case r.Memory != nil && !r.Memory.Fits:
		return outcome(exitNoFit)
	}
	return nil
}

// writeJSON writes a document; keys keep the order of the struct.
func (a *app) writeJSON(document any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
