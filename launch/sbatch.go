package launch

import (
	"fmt"
	"path"
	"strings"

	"meshscope/presets/setupdoc"
)

// Sbatch returns the document as a job of Slurm: one task per node that starts torchrun, or with
// ranks one task per GPU, to which Slurm gives its rank. Account, partition and time limits are the
// site's; the file of a launcher that reads one is written by the job.
func (d *Document) Sbatch(ranks bool) []byte {
	var b strings.Builder
	tasks, cpus := 1, "per node"
	if ranks {
		tasks, cpus = d.PerNode, "per GPU"
	}
	b.WriteString("#!/bin/bash\n")
	for _, line := range []string{
		"job-name=" + strings.TrimSuffix(d.File, path.Ext(d.File)), fmt.Sprintf("nodes=%d", d.Nodes),
		fmt.Sprintf("ntasks-per-node=%d", tasks),
		fmt.Sprintf("gpus-per-node=%d", d.PerNode), "exclusive", "output=%x-%j.out",
	} {
		b.WriteString("#SBATCH --" + line + "\n")
	}
	comment(&b, append([]string{
		"YOURS: --account --partition --qos --time --constraint, and --cpus-per-task (" + cpus + ").",
		"Some sites want --gres=gpu:N in place of --gpus-per-node.",
	}, d.Stamp...))
	comment(&b, []string{"Ranks of tp are neighbours: srun fills a node before the next."})
	b.WriteString("set -euo pipefail\n")
	environment(&b, d.Env)
	b.WriteString("MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1) # where the " +
		"processes meet\nexport MASTER_ADDR MASTER_PORT=29500\n\n")
	if spell := d.spelling(); spell != nil {
		array(&b, d.Entries, spell)
	} else {
		end := "END_OF_" + strings.ToUpper(d.Launcher)
		fmt.Fprintf(&b, "cat > %s << '%s'\n%s%s\n", setupdoc.Quoted(d.File), end,
			strings.TrimSuffix(string(d.Text()), "\n")+"\n", end)
	}
	b.WriteString("\n" + d.command(ranks) + "\n")
	return []byte(b.String())
}

// spelling returns how keys are written where the launcher takes arguments and no file; nil:
// a file.
func (d *Document) spelling() func(key string) (text, join string) {
	switch d.Launcher {
	case "megatron":
		return flagKey
	case "bridge":
		return bridgeKey
	}
	return nil
}

// command returns what the job runs.
func (d *Document) command(ranks bool) string {
	switch {
	case d.Starter != "":
		return "srun --kill-on-bad-exit=1 --ntasks-per-node=1 " + d.Starter + " " + d.Program
	case ranks: // in one quoted word, for each task has its own rank
		inner := "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS; exec " +
			"python \"$@\""
		return "# shellcheck disable=SC2016 # each task expands its own rank\nsrun --kill-on-bad-exit=1 " +
			"bash -c '" + inner + "' python " + d.Program
	default:
		return fmt.Sprintf("srun --kill-on-bad-exit=1 torchrun --nnodes \"$SLURM_NNODES\" --nproc_per_node "+
			"%d \\\n  --rdzv_id \"$SLURM_JOB_ID\" --rdzv_backend c10d --rdzv_endpoint "+
			"\"$MASTER_ADDR:$MASTER_PORT\" \\\n  %s", d.PerNode, d.Program)
	}
}
