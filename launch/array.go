package launch

import (
	"bytes"
	"fmt"
	"strings"

	"meshscope/presets/setupdoc"
)

// Task is one job of an array: a document, what it is for, and the setup as the line that the job
// prints first, so that its log tells what ran.
type Task struct {
	Document *Document
	About    []string // lines of a comment
	Echo     string
}

// SetIterations sets how many iterations a document runs, and that each is logged, where its file
// or the launcher's command line says so (torchtitan: dotted flags over the file,
// torchtitan/config/manager.py).
func (d *Document) SetIterations(n int) {
	to := map[string]int{
		"train-iters": n, "train.train_iters": n, "tokens.train_steps": n,
		"training.steps": n, "steps_per_print": 1,
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		if v, ok := to[e.Key]; ok {
			e.Value, e.Why = v, "enough for a median after the warm-up"
		}
	}
	if strings.HasPrefix(d.Program, "-m torchtitan.train ") {
		d.Program += fmt.Sprintf(" --training.steps %d --metrics.log_freq 1", n)
	}
}

// start returns the command that starts a document on one node, as bash reads it; file is where
// its text stands.
func (d *Document) start(file string) string {
	if d.isScript() {
		return "bash " + file
	}
	starter := d.Starter
	switch {
	case strings.HasPrefix(starter, "accelerate launch "): // over what its file has of the machines
		starter += ` --machine_rank "$NODE_RANK"`
	case starter == "":
		starter = fmt.Sprintf(
			`torchrun --nnodes %d --nproc_per_node %d --node_rank "$NODE_RANK" --rdzv_backend c10d `+
				`--rdzv_endpoint "$MASTER_ADDR:29500"`,
			d.Nodes, d.PerNode,
		)
	}
	return strings.ReplaceAll(starter+" "+d.Program, d.File, file)
}

func (d *Document) isScript() bool { return bytes.HasPrefix(d.Text(), []byte("#!")) }

// endOfFile ends the text of a file in an array; no launcher's file has such a line.
const endOfFile = "END_OF_MESHSCOPE_FILE"

// Array returns a Slurm job array as a script for sbatch: each task writes the file of its
// document into a folder of its own, prints its setup and starts the launcher once on every node
// (sbatch(1), --array and SLURM_ARRAY_TASK_ID; srun(1), SLURM_NODEID).
func Array(tasks []Task, stamp []string) []byte {
	var b strings.Builder
	nodes, perNode := 0, 0
	for i := range tasks {
		nodes, perNode = max(nodes, tasks[i].Document.Nodes), max(perNode, tasks[i].Document.PerNode)
	}
	fmt.Fprintf(&b, `#!/usr/bin/env bash
#SBATCH --job-name=meshscope-bench
#SBATCH --array=1-%d%%1
#SBATCH --nodes=%d
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=%d
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=bench-%%A_%%a.out
# YOURS: --account --partition --qos --time --constraint, and --cpus-per-task (per node).
# %%1 runs one task after the other; more at once where nothing is shared between the jobs.
`, len(tasks), nodes, perNode)
	comment(&b, stamp)
	b.WriteString(`set -euo pipefail
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) # where the ranks meet
DIR="$PWD/bench-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID"
export MASTER_ADDR DIR PYTHONPATH="$DIR:${PYTHONPATH:-}"
mkdir -p "$DIR"

case "$SLURM_ARRAY_TASK_ID" in
`)
	for i := range tasks {
		t := &tasks[i]
		d := t.Document
		fmt.Fprintf(&b, "%d)\n", i+1)
		comment(&b, t.About)
		fmt.Fprintf(&b, "echo %s\n", setupdoc.Quoted(t.Echo))
		if !d.isScript() {
			environment(&b, d.Env)
		}
		file := d.File
		if d.isScript() {
			file = "train.sh"
		}
		fmt.Fprintf(&b, "cat >\"$DIR/%s\" <<'%s'\n%s\n%s\n", file, endOfFile,
			strings.TrimRight(string(d.Text()), "\n"), endOfFile)
		fmt.Fprintf(&b, "START=%s\n;;\n", setupdoc.Quoted(d.start(`"$DIR"/`+file)))
	}
	b.WriteString(`*)
echo "no task $SLURM_ARRAY_TASK_ID: this array has 1 to ` + fmt.Sprint(len(tasks)) + `" >&2
exit 2
;;
esac

export START
srun --kill-on-bad-exit=1 bash -c 'export NODE_RANK=$SLURM_NODEID; eval "$START"'
`)
	return []byte(b.String())
}
