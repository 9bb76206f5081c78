package launch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/model"
)

// ropeNumber reads a number of rotary positions, which changes no shape.
func (r *reader) ropeNumber(figure string, v any) error {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || !(n >= 1 && n <= model.MaxRopeTheta) || figure == "rope_theta" && n != math.Trunc(n) {
		return skip("no number that is carried, and it changes no shape")
	}
	r.Setup[modelPrefix+figure] = n
	return nil
}

// finishRoPE resolves what flags of rotary positions mean together: those that the file's model has not, and
// what Megatron-LM does without them, say nothing of the model.
func (r *reader) finishRoPE() {
	const theta, kind, factor = modelPrefix + "rope_theta", modelPrefix + "rope_scaling",
		modelPrefix + "rope_factor"
	positions, _ := r.Setup[modelPrefix+"pos_embedding"].(string)
	turned := strings.HasPrefix(positions, "rope")
	if !turned || r.Setup[theta] == float64(deepSeekTheta) { // A, --rotary-base
		delete(r.Setup, theta)
	}
	// all arguments as Megatron-LM prints them have both factors
	scaling := func(key string) (n float64, ok bool) {
		n, err := strconv.ParseFloat(fmt.Sprint(r.values[key].Value), 64)
		return n, err == nil && n >= 1 && n <= model.MaxSequence
	}
	delete(r.Setup, factor)
	stretch, given := scaling("rotary-scaling-factor")
	switch mla := r.has("multi-latent-attention"); {
	case turned && mla && given && stretch > 1:
		r.Setup[kind], r.Setup[factor] = "yarn", stretch
	case turned && !mla && r.Setup[kind] == "llama3":
		if stretch, given = scaling("rope-scaling-factor"); given {
			r.Setup[factor] = stretch
		}
		r.assume(factor, 8.0, "Megatron-LM's default") // A, --rope-scaling-factor
	default:
		delete(r.Setup, kind)
	}
}
