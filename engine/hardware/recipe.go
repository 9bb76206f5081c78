package hardware

import (
	"fmt"
	"math"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// Recipe is what a published run trained a model with.
type Recipe struct {
	Shape      string // of the model: see Shape
	Generation string // architecture of the GPUs
	GPU        string // their name, for a reader
	GPUs       int
	GBS, Seq   int
	Precision  recipe.Precision
	Dispatcher recipe.Dispatcher // of experts; empty for dense models
	Title      string            // who published it
	Source     string
}

// Shape returns the sizes by which a model is recognized under whatever name.
func Shape(m *model.Model) string {
	shape := fmt.Sprintf("%dx%d:%d/%dx%d:%dx%d:%dx%d/%d",
		m.Layers, m.Hidden, m.Heads, m.KVHeads, m.HeadDim, max(m.FFN, 0), m.Vocab, m.Experts, m.ExpertFFN,
		m.TopK)
	if m.IsMLA() {
		shape += fmt.Sprintf(":%d/%d:%d+%d/%d", m.QLoraRank, m.KVLoraRank, m.QKNopeDim, m.QKRopeDim,
			m.VHeadDim)
	}
	if m.Pattern != "" { // which layers are of which kind, and the widths of those that carry a state
		shape += fmt.Sprintf(":%s:%dx%d/%dx%d", m.Pattern, m.LinearKeyHeads, m.LinearKeyDim,
			m.LinearValueHeads, m.LinearValueDim)
	}
	return shape
}

// Tokens returns the tokens of its global batch.
func (r *Recipe) Tokens() int { return r.GBS * r.Seq }

// Run names the run: "DeepSeek-V3 report on 2,048 H800".
func (r *Recipe) Run(number func(int) string) string {
	return fmt.Sprintf("%s on %s %s", r.Title, number(r.GPUs), r.GPU)
}

// Recipe returns the published run of a model on a generation of GPUs that is nearest in the number
// of GPUs, by ratio; of two as near the first. It is nil where there is none.
func (p *Published) Recipe(m *model.Model, generation string, gpus int) *Recipe {
	if p == nil || len(p.Recipes) == 0 {
		return nil
	}
	var best *Recipe
	shape, least := Shape(m), math.Inf(1)
	for i := range p.Recipes {
		r := &p.Recipes[i]
		if r.Shape != shape || r.Generation != generation {
			continue
		}
		if far := math.Abs(math.Log(float64(max(gpus, 1)) / float64(r.GPUs))); far < least {
			best, least = r, far
		}
	}
	return best
}
