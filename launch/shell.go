package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/presets/setupdoc"
)

// shellText returns a document as a bash script: an array of flags with the knob of each, and
// the command that starts them on one node of the job.
func shellText(d *Document) []byte {
	var b strings.Builder
	b.WriteString("#!/usr/bin/env bash\n")
	comment(&b, d.Stamp)
	b.WriteString("set -euo pipefail\n")
	environment(&b, d.Env)
	b.WriteString(
		`: "${MASTER_ADDR:?the first node of the job}" "${NODE_RANK:?the number of this node, from 0}"` +
			"\n\n",
	)
	array(&b, d.Entries, flagKey)
	fmt.Fprintf(&b, "\ntorchrun --nnodes %d --nproc_per_node %d --node_rank \"$NODE_RANK\" --rdzv_backend "+
		"c10d --rdzv_endpoint \"$MASTER_ADDR:29500\" %s\n", d.Nodes, d.PerNode, d.Program)
	return []byte(b.String())
}

// comment writes lines as comments.
func comment(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString("# " + line + "\n")
	}
}

// environment writes variables with the reason of each.
func environment(b *strings.Builder, env []Entry) {
	for _, e := range env {
		if e.Value == nil {
			fmt.Fprintf(b, "unset %s # %s\n", e.Key, e.Why)
			continue
		}
		fmt.Fprintf(b, "export %s=%s # %s\n", e.Key, setupdoc.Quoted(fmt.Sprint(e.Value)), e.Why)
	}
}

// flagKey writes a key as a flag, apart from its value.
func flagKey(key string) (text, join string) { return "--" + key, " " }

// array writes entries as the bash array ARGS, a flag on each line. A list is several words, or
// one in brackets where key and value are one word.
func array(b *strings.Builder, entries []Entry, spell func(key string) (text, join string)) {
	b.WriteString("ARGS=(\n")
	for _, e := range entries {
		key, join := spell(e.Key)
		line := "  " + key
		switch v := e.Value.(type) {
		case nil:
		case []any:
			var words []string
			for _, item := range v {
				words = append(words, setupdoc.Quoted(fmt.Sprint(item)))
			}
			if line += join + strings.Join(words, " "); join == "=" {
				line = "  " + key + "='[" + strings.Join(words, ",") + "]'"
			}
		default:
			line += join + setupdoc.Quoted(fmt.Sprint(v))
		}
		if note := e.note(); note != "" {
			line += " # " + note
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(")\n")
}

// note says where an entry comes from: the knobs as flags of this program, or the reason.
func (e *Entry) note() string {
	var words []string
	for _, key := range e.From {
		if of, ok := strings.CutPrefix(key, setPrefix); ok {
			words = append(words, "--set "+of)
		} else {
			words = append(words, "--"+strings.ReplaceAll(key, "_", "-"))
		}
	}
	from := strings.Join(words, " ")
	if e.Site {
		from = "YOURS"
	}
	return strings.Join(slices.DeleteFunc([]string{from, e.Why}, func(s string) bool { return s == "" }),
		": ")
}
