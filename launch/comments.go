package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/presets"
)

// writtenBy begins the line of a stamp that tells it from other comments.
const writtenBy = "Written by meshscope"

// commented finds figures that comments state, by the key of the setup that they are about.
//
//nolint:gochecknoglobals // made once, then only read
var commented = [...]struct {
	key  string
	form *regexp.Regexp
}{
	{flat(knob.GPUs), regexp.MustCompile(`(?i)\b(\d+)\s*(?:x\s*)?(?:[a-z]+\d+[a-z]*\s+)?gpus?\b`)},
	{flat(knob.Nodes), regexp.MustCompile(`(?i)\b(\d+)\s*nodes?\b`)},
	{flat(knob.TP), regexp.MustCompile(`(?i)\b(?:tp|tensor parallel(?:ism)?)\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.PP), regexp.MustCompile(`(?i)\b(?:pp|pipeline parallel(?:ism)?)\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.GBS), regexp.MustCompile(`(?i)\bglobal batch(?: size)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.MBS), regexp.MustCompile(`(?i)\bmicro[- ]?batch(?: size)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.Seq), regexp.MustCompile(`(?i)\bseq(?:uence)?[- ]?len(?:gth)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
}

// machineOf finds the model, the GPU and the cluster in the first line of a stamp; names of GPUs have
// brackets too.
var machineOf = regexp.MustCompile(`^# (.*) on \d+ x (.+?)(?: \(([^()]+)\))?: dp \d+ tp`)

// stamped takes the machine from the comment that this program writes above a file: no key of it has one.
func (r *Reading) stamped(text []byte, lib *presets.Library) {
	head, _, ok := bytes.Cut(text, []byte("\n# "+writtenBy+" "))
	at := bytes.LastIndexByte(head, '\n') + 1
	m := machineOf.FindSubmatch(head[at:min(len(head), at+maxYAMLLine)])
	if !ok || m == nil {
		return
	}
	r.called = string(m[1])
	gpu := string(m[2])
	cluster, changed := strings.CutSuffix(string(m[3]), hardware.Changed)
	key, id := "cluster", cluster
	if _, err := lib.Cluster(cluster); err != nil {
		key, id = "gpu", ""
		for _, p := range lib.GPUs() {
			if p.Name == gpu || p.Name == gpu+" ("+cluster+")" {
				id, gpu, cluster = p.ID, p.Name, ""
			}
		}
	}
	line := bytes.Count(head, []byte("\n")) + 1
	if why := "no preset"; id == "" || changed {
		if id != "" {
			why = "changed from its preset" + unsaid
		}
		r.Ignored = append(r.Ignored, Ignored{
			Key: "comment", Line: line,
			Why: fmt.Sprintf("the machine %s is %s", shown(strings.TrimSpace(gpu+" "+cluster)), why),
		})
	}
	if id != "" {
		r.Setup[key] = id
		r.Understood = append(r.Understood,
			Understood{Key: "comment", Value: gpu, Setup: []string{key}, Line: line})
	}
}

// shape is how many GPUs of each of several nodes the file starts processes on, at a line of it; 0: it does
// not say.
type shape struct{ gpus, line int }

// nodes takes the GPUs of a node from the processes that the file starts on each of several, where its
// machine has others and nothing beside the file gives one.
func (r *Reading) nodes(lib *presets.Library) {
	const key = "gpus_per_node"
	c, err := lib.Cluster(presets.DefaultCluster)
	if id, ok := r.Setup["cluster"].(string); ok {
		c, err = lib.Cluster(id)
	}
	gpu, _ := r.Setup["gpu"].(string)
	for _, g := range r.given {
		if g.key == "cluster" || strings.ReplaceAll(g.key, "-", "_") == key ||
			strings.HasPrefix(g.text, "cluster.") {
			return
		}
		if g.key == "gpu" {
			gpu = g.text
		}
	}
	if gpu != "" {
		var g hardware.GPU
		g, err = lib.GPU(gpu)
		c = lib.NodeOf(g)
	}
	if err != nil || r.each.gpus == 0 || r.each.gpus == c.Node() || r.Setup[key] != nil || r.document != nil {
		return
	}
	r.Setup[key] = r.each.gpus
	r.Understood = append(r.Understood, Understood{
		Key: processes + " per node", Value: r.each.gpus, Setup: []string{key}, Line: r.each.line,
	})
	for i := range r.Ignored {
		if before, ok := strings.CutSuffix(r.Ignored[i].Why, unsaid); ok {
			r.Ignored[i].Why = before +
				"; the file gives the GPUs of a node, not its network (--node-bandwidth)"
		}
	}
}

// unsaid ends what is said of a machine that is not its preset.
const unsaid = ", and how the file does not say"

// onMachine tells of a machine that nothing gave which one it is.
func (r *Reading) onMachine(s *engine.Setup) {
	given := func(g given) bool { return g.key == "gpu" || g.key == "cluster" }
	switch {
	case r.document != nil || r.Launcher == itself || r.Launcher == huggingFace,
		r.Setup["cluster"] != nil, r.Setup["gpu"] != nil, slices.ContainsFunc(r.given, given):
		return
	}
	r.Setup["cluster"] = s.Cluster.ID
	r.Understood = slices.Insert(r.Understood, 0, Understood{ // what moves every figure comes first
		Key: "cluster", Value: s.Cluster.ID, Setup: []string{"cluster"},
		Assumed: "the file names no machine: --gpu or --cluster gives it",
	})
}

// Bounds of the comments that are looked at, and of what is said of them.
const mostComments, maxComments = 8, 1 << 16

// remarks tells of figures in comments that differ from what is read: none of them is used.
func (r *Reading) remarks(text []byte) {
	said, number, looked := 0, 0, 0
	for line := range bytes.Lines(text) {
		number++
		at := bytes.IndexByte(line, '#')
		if looked > maxComments || said == mostComments {
			return
		}
		if at < 0 || len(line) > maxYAMLLine || bytes.HasPrefix(line, []byte("#!")) ||
			bytes.HasPrefix(line, []byte("#SBATCH")) {
			continue
		}
		if at > 0 && line[at-1] != ' ' && line[at-1] != '\t' { // ${#list}, a#b
			continue
		}
		looked += len(line) - at
		for _, row := range commented {
			m := row.form.FindSubmatch(line[at:])
			if m == nil || said == mostComments {
				continue
			}
			n, err := strconv.Atoi(string(m[1]))
			if v, read := r.Setup[row.key].(int); err != nil || read && v == n {
				continue
			}
			said++
			r.Ignored = append(r.Ignored, Ignored{
				Key: "comment", Line: number,
				Why: fmt.Sprintf("%s is a comment, which is not used",
					shown(strings.TrimSpace(string(m[0])))),
			})
		}
	}
}
