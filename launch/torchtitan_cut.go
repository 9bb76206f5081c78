package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/model"
)

// titanCut is how torchtitan comes to the stages of a pipeline: embedding and head count as
// first and last layers, perStage says how many layers a stage has (0: by the number of stages),
// modules lists them where no such numbers give the stages that are wanted.
type titanCut struct {
	first, last, perStage int
	modules               []any
}

// titanCutOf returns how torchtitan is told the stages of a setup: with its own weights of 1, with
// others, or module by module.
func titanCutOf(s *engine.Setup) titanCut {
	if s.PP == 1 {
		return titanCut{first: 1, last: 1}
	}
	stages, err := s.Partition(model.Lay(&s.Model, nil), nil)
	if err != nil {
		return titanCut{first: 1, last: 1}
	}
	wanted := make([]int, len(stages))
	for i := range stages {
		wanted[i] = stages[i].Layers()
	}
	usual := 1
	if of, _ := titanScheduleOf(s.Schedule); of.multi {
		usual = 2
	}
	for _, w := range [...][2]int{{1, 1}, {0, 0}, {0, 1}, {1, 0}, {2, 2}, {1, 2}, {2, 1}} {
		c := titanCut{first: w[0], last: w[1]}
		if got, ok := c.layers(s.Model.Layers, len(wanted)); !ok || !slices.Equal(got, wanted) {
			continue
		}
		if s.VPP == usual {
			return c
		}
		sum := s.Model.Layers + c.first + c.last
		c.perStage = (sum + len(wanted) - 1) / len(wanted)
		if (sum+c.perStage-1)/c.perStage == len(wanted) {
			return c
		}
	}
	return titanCut{first: 1, last: 1, modules: modulesOf(wanted)}
}

// layers returns the layers of each stage, as generate_llm_fqn_per_model_part deals them
// (distributed/pipeline_parallel.py); false where it refuses.
func (c titanCut) layers(layers, stages int) ([]int, bool) {
	sum := layers + c.first + c.last
	each, extra := sum/stages, sum%stages
	if stages < 2 || each < max(c.first, c.last, 1) {
		return nil, false
	}
	out := make([]int, stages)
	for i := range out {
		if out[i] = each; i < extra {
			out[i]++
		}
	}
	out[0] -= c.first
	out[stages-1] -= c.last
	return out, true
}

// modulesOf lists the modules of each stage.
func modulesOf(layers []int) []any {
	var out []any
	next := 0
	for i, n := range layers {
		var stage []any
		if i == 0 {
			stage = append(stage, "tok_embeddings")
		}
		for range n {
			stage = append(stage, fmt.Sprintf("layers.%d", next))
			next++
		}
		if i == len(layers)-1 {
			stage = append(stage, "norm", "output")
		}
		out = append(out, stage)
	}
	return out
}

// layersOf returns the layers of each stage of a list of modules; false where it is none.
func layersOf(v any) ([]int, bool) {
	stages, ok := v.([]any)
	if !ok || len(stages) == 0 {
		return nil, false
	}
	out := make([]int, len(stages))
	for i, stage := range stages {
		modules, ok := stage.([]any)
		if !ok {
			return nil, false
		}
		for _, m := range modules {
			if name, ok := m.(string); ok && strings.HasPrefix(name, "layers.") {
				out[i]++
			}
		}
	}
	return out, true
}

// readCut reads virtual stages and the layers of each stage.
func (r *reader) readCut(prefix string, layers, pp int, multi bool) {
	usual := 1
	if multi {
		usual = 2
	}
	c := titanCut{
		first: r.whole(prefix+"pipeline_parallel_first_stage_less_layers", 0, 1),
		last:  r.whole(prefix+"pipeline_parallel_last_stage_less_layers", 0, 1),
	}
	stages := pp * usual
	if per := r.whole(prefix+"pipeline_parallel_layers_per_stage", 1, 0); per > 0 && layers > 0 {
		if stages = (min(layers+c.first+c.last, maxStages) + per - 1) / per; stages%pp != 0 {
			r.wrongf(prefix+"pipeline_parallel_layers_per_stage",
				"%d layers per stage are %d stages, no multiple of pp %d", per, stages, pp)
			return
		}
	}
	const key = "module_fqns_per_model_part"
	got, ok := []int(nil), false
	if v, said := r.values[prefix+key]; said && v.Value != nil {
		if got, ok = layersOf(v.Value); !ok || len(got)%pp != 0 {
			r.wrongf(prefix+key, "no list of modules for each of pp x vpp stages")
			return
		}
		stages = len(got)
	} else if layers > 0 && stages <= maxStages {
		got, ok = c.layers(layers, stages)
	}
	r.Setup["vpp"] = stages / pp
	if !ok || layers == 0 {
		return
	}
	texts := make([]string, len(got))
	for i, n := range got {
		texts[i] = strconv.Itoa(n)
	}
	if split := strings.Join(texts, ","); split != layout.BalancedSplit(layers, stages) {
		r.Setup["split"] = split
	}
}

// maxStages bounds the stages of a file that is read.
const maxStages = 1 << 16
