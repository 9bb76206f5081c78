package launch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/layout"
)

// cut is how Megatron-LM is told which layers stand on which stage.
type cut struct {
	counted int    // of loss and embedding, counted as layers
	text    string // --pipeline-model-parallel-layout; empty: layers divide as they are, or counted
}

// cutOf returns how the layers of a legal setup are cut.
func cutOf(s *engine.Setup) cut {
	stages, err := s.StagesOfStack(nil, nil)
	if err != nil || len(stages) < 2 || s.Model.Flat() { // whose pattern says it
		return cut{}
	}
	layers := make([]int, len(stages))
	for i := range stages {
		layers[i] = stages[i].Layers()
	}
	for counted := range 3 {
		if slices.Equal(layers, countedLayers(s.Model.Layers, len(layers), counted)) {
			return cut{counted: counted}
		}
	}
	mtp := 0
	if s.TrainMTP {
		mtp = s.Model.MTPRuns()
	}
	return cut{text: layoutText(layers, mtp)}
}

// countedLayers returns the layers of each stage where loss (1) and embedding (2) count as layers;
// nil where they do not divide.
func countedLayers(layers, stages, counted int) []int {
	if sum := layers + counted; stages < 1 || sum%stages != 0 || sum/stages < 1 {
		return nil
	}
	out := make([]int, stages)
	for i := range out {
		out[i] = (layers + counted) / stages
	}
	if counted > 0 {
		out[stages-1]--
	}
	if counted > 1 {
		out[0]--
	}
	return out
}

// mtpStage is the stage of the multi-token-prediction modules: the last with the loss, or where the
// last two have no layers the one before it, as in NVIDIA's layouts of DeepSeek-V3.
func mtpStage(layers []int) int {
	n := len(layers)
	if n > 2 && layers[n-1] == 0 && layers[n-2] == 0 {
		return n - 2
	}
	return n - 1
}

// layoutText writes the layers of each stage as Et*3|(tt|)*29,m|L: E the embedding, t a layer, m a
// multi-token-prediction module, L the loss.
func layoutText(layers []int, mtp int) string {
	stages := make([]string, len(layers))
	for i, n := range layers {
		stages[i] = strings.Repeat("t", n)
		if n > 2 {
			stages[i] = "t*" + strconv.Itoa(n)
		}
		if i == mtpStage(layers) {
			stages[i] += strings.Repeat("m", mtp)
		}
	}
	last := len(stages) - 1
	stages[0] = "E" + stages[0]
	stages[last] += "L"
	var b strings.Builder
	for i := 0; i <= last; {
		same := 1
		for i+same < last && stages[i+same] == stages[i] { // the last stage has no bar after it
			same++
		}
		switch {
		case i == last:
			b.WriteString(stages[i])
		case same > 1 && stages[i] != "":
			fmt.Fprintf(&b, "(%s|)*%d", stages[i], same)
			if i+same < last {
				b.WriteByte(',')
			}
		default:
			b.WriteString(strings.Repeat(stages[i]+"|", same))
		}
		i += same
	}
	return strings.TrimSuffix(b.String(), ",")
}

// maxLayout bounds an unrolled layout, in signs.
const maxLayout = 1 << 16

// parseLayout reads a layout: the layers of each stage, the multi-token-prediction modules and
// their stage.
func parseLayout(text string) (layers []int, mtp, at int, err error) {
	text = strings.Trim(strings.NewReplacer(",", "", " ", "", "\n", "").Replace(text), `"'`)
	grown := 0
	for _, pattern := range []*regexp.Regexp{
		regexp.MustCompile(`\(([^()]*)\)\*(\d+)`),
		regexp.MustCompile(`([^*\d()])\*(\d+)`),
	} {
		text = pattern.ReplaceAllStringFunc(text, func(match string) string {
			parts := pattern.FindStringSubmatch(match)
			n, wrong := strconv.Atoi(parts[2])
			if grown += n * len(parts[1]); wrong != nil || n > maxLayout || grown > maxLayout {
				err = fmt.Errorf("%s is over %d signs", shown(match), maxLayout)
				return ""
			}
			return strings.Repeat(parts[1], n)
		})
		if err != nil {
			return nil, 0, 0, err
		}
	}
	layers = make([]int, 1)
	for _, sign := range text {
		switch sign {
		case '|':
			layers = append(layers, 0)
		case 't':
			layers[len(layers)-1]++
		case 'm':
			mtp, at = mtp+1, len(layers)-1
		case 'E', 'L':
		default:
			return nil, 0, 0, fmt.Errorf("%s is no part of a layout: E t m L | are", shown(string(sign)))
		}
	}
	if len(layers) < 2 {
		err = errors.New("a layout of one stage")
	}
	return layers, mtp, at, err
}

// megatronStages returns the flags of stages.
func megatronStages() []field {
	split := []string{"split"}
	return []field{
		numberField("num-virtual-stages-per-pipeline-rank", "vpp", func(s *engine.Setup) int { return s.VPP },
			func(s *engine.Setup) bool { return s.VPP > 1 && cutOf(s).text == "" && !s.Model.Flat() }),
		{
			key: "pipeline-model-parallel-layout", from: []string{"split", "vpp"},
			write: func(s *engine.Setup) (any, bool) { text := cutOf(s).text; return text, text != "" },
			read:  readLayout,
		},
		{
			key: "account-for-embedding-in-pipeline-split", from: split,
			write: func(s *engine.Setup) (any, bool) { return nil, cutOf(s).counted > 1 }, read: part,
		},
		{key: "account-for-loss-in-pipeline-split", from: split, write: func(s *engine.Setup) (any, bool) {
			return nil, cutOf(s).counted > 0
		}, read: part},
		{key: "num-layers-per-virtual-pipeline-stage", from: []string{"vpp"}, read: readLayersPerStage},
		{key: "decoder-first-pipeline-num-layers", from: split, read: part},
		{key: "decoder-last-pipeline-num-layers", from: split, read: part},
		numberField("microbatch-group-size-per-virtual-pipeline-stage", "group_size",
			func(s *engine.Setup) int { return s.GroupSize },
			func(s *engine.Setup) bool { return s.VPP > 1 && s.GroupSize > 0 }),
	}
}

// readLayout reads --pipeline-model-parallel-layout.
func readLayout(v any, r *reader) error {
	layers, mtp, at, err := parseLayout(fmt.Sprint(v))
	pp := r.number("pp", 1)
	switch {
	case err != nil:
		return err
	case pp < 1 || len(layers)%pp != 0:
		return fmt.Errorf("its %d stages are no multiple of the pipeline's %d ranks", len(layers), pp)
	}
	sum := 0
	for _, n := range layers {
		sum += n
	}
	if n := r.number(modelPrefix+"layers", sum); n != sum {
		return fmt.Errorf("it has %d layers, --num-layers %d", sum, n)
	}
	// a recipe may have its own
	passes := max(r.number(modelPrefix+"mtp_passes", 1), 1)
	if n := r.number(modelPrefix+"mtp_layers", 0) * passes; n != mtp &&
		(r.Launcher == "megatron" || r.has("mtp-num-layers")) {
		return fmt.Errorf("it has %d multi-token-prediction modules, --mtp-num-layers %d", mtp, n)
	}
	r.Setup["vpp"] = len(layers) / pp
	r.setSplit(layers)
	if mtp > 0 && at != mtpStage(layers) {
		r.Ignored = append(r.Ignored,
			Ignored{
				Key:  "pipeline-model-parallel-layout",
				Line: r.values["pipeline-model-parallel-layout"].Line,
				Why: fmt.Sprintf("multi-token prediction on stage %d: it counts on the last stage here",
					at),
			})
	}
	return nil
}

// setSplit sets the layers of each stage, unless they are the balanced ones of layers that are alike.
func (r *reader) setSplit(layers []int) {
	sum := 0
	words := make([]string, len(layers))
	for i, n := range layers {
		sum += n
		words[i] = strconv.Itoa(n)
	}
	if text := strings.Join(words, ","); r.hybrid() || text != layout.BalancedSplit(sum, len(layers)) {
		r.Setup["split"] = text
	}
}

// hybrid reports whether layers are of several kinds, whose stages are no balanced ones where none are given.
func (r *reader) hybrid() bool {
	return r.has("hybrid-layer-pattern") || r.has("hybrid-override-pattern") ||
		r.has("experimental-attention-variant")
}

// readLayersPerStage reads the layers of a virtual stage.
func readLayersPerStage(v any, r *reader) error {
	n, err := wholeArgument(v, 0)
	if err != nil {
		return err
	}
	pp := max(r.number("pp", 1), 1)
	sum := r.number(modelPrefix+"layers", 0) + r.accounted()
	if n < 1 || sum%pp != 0 || sum/pp%n != 0 {
		return fmt.Errorf("%d layers do not divide over %d ranks with %d layers a stage", sum, pp, n)
	}
	if vpp := sum / pp / n; vpp > 1 {
		r.Setup["vpp"] = vpp
	}
	return nil
}

// accounted returns how many of loss and embedding count as layers.
func (r *reader) accounted() int {
	counted := 0
	for _, key := range []string{
		"account-for-loss-in-pipeline-split",
		"account-for-embedding-in-pipeline-split",
	} {
		if r.has(key) {
			counted++
		}
	}
	return counted
}

// readSplit resolves the layers of each stage from the flags that are not a layout.
func (r *reader) readSplit() {
	layers, pp, vpp := r.number(modelPrefix+"layers", 0), r.number("pp", 1), r.number("vpp", 1)
	if pp < 2 || pp > layout.MaxDegree || vpp < 1 || vpp > layout.MaxDegree || layers < 1 ||
		layers > maxLayout || pp*vpp > layers+2 || r.has("pipeline-model-parallel-layout") ||
		// which has its stages itself
		strings.Contains(r.text("hybrid-layer-pattern")+r.text("hybrid-override-pattern"), "|") {
		return
	}
	first, last := r.argument("decoder-first-pipeline-num-layers"),
		r.argument("decoder-last-pipeline-num-layers")
	if first+last == 0 {
		emb, loss := r.has("account-for-embedding-in-pipeline-split"),
			r.has("account-for-loss-in-pipeline-split")
		out := countedLayers(layers, pp*vpp, r.accounted())
		if emb && !loss && out != nil { // the embedding alone
			out[0], out[len(out)-1] = out[0]-1, out[len(out)-1]+1
		}
		if out == nil && r.unevenly { // the balanced split
			return
		}
		if out == nil && (r.lost["split"] || r.lost["vpp"]) { // flags that may be there can say it
			r.Ignored = append(r.Ignored, Ignored{
				Key: "pipeline-model-parallel-size", Line: r.values["pipeline-model-parallel-size"].Line,
				Why: fmt.Sprintf("%d layers do not divide over %d stages without the flags that are not "+
					"known: Megatron-LM refuses them", layers, pp*vpp),
			})
			return
		}
		if out == nil {
			r.wrongf("pipeline-model-parallel-size", "%d layers, and %d more that are counted as layers, "+
				"do not divide over %d stages: Megatron-LM refuses them "+
				"(megatron/core/transformer/transformer_config.py:2242)", layers, r.accounted(), pp*vpp)
			return
		}
		r.setSplit(out)
		return
	}
	r.readEnds(layers, pp, vpp, first, last)
}

// readEnds resolves the layers of each stage where those of the first or last rank are given.
func (r *reader) readEnds(layers, pp, vpp, first, last int) {
	middle, ranks := layers-first-last, pp
	for _, end := range []int{first, last} {
		if end > 0 {
			ranks--
		}
	}
	if middle < 0 || ranks > 0 && middle%ranks != 0 || ranks == 0 && middle != 0 {
		r.wrongf("decoder-first-pipeline-num-layers",
			"%d layers between the ends do not divide over %d ranks", middle, ranks)
		return
	}
	out := make([]int, pp*vpp)
	for rank := range pp {
		n := 0
		switch {
		case rank == 0 && first > 0:
			n = first
		case rank == pp-1 && last > 0:
			n = last
		case ranks > 0:
			n = middle / ranks
		}
		if n%vpp != 0 {
			r.wrongf("num-virtual-stages-per-pipeline-rank",
				"%d layers of rank %d do not divide over %d virtual stages", n, rank, vpp)
			return
		}
		for chunk := range vpp {
			out[chunk*pp+rank] = n / vpp
		}
	}
	r.setSplit(out)
}
