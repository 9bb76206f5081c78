package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// asked is what somebody says about a search: a setup of everything that no
// layout changes, and values of the knobs.
type asked struct {
	setup  engine.Setup
	values map[knob.ID]knob.Values
	texts  map[knob.ID]string // as they are said back

	defaultGBS bool // nobody said the global batch
	counted    bool // it follows from dp, mbs and microbatches
	cut        bool // one value of tp, pp, cp and the GPUs is said
	asEval     bool // and no list of mbs or microbatches: eval's default batch is known
}

// askedFor reads the flags of a search on top of the file they name. What the
// list free names is taken back from the file.
func (f *setupFlags) askedFor(a *app, free []knob.ID) (*asked, error) {
	doc, err := f.document(a)
	if err != nil {
		return nil, err
	}
	q := &asked{values: map[knob.ID]knob.Values{}, texts: map[knob.ID]string{}}
	for _, id := range knob.Searched() {
		if text, said := doc.Take(id); said && !slices.Contains(free, id) {
			if err := q.say(id, text); err != nil {
				return nil, err
			}
		}
	}
	once := map[knob.ID]string{}
	for _, s := range f.said {
		key, value := s.key, s.value
		if s.assignment {
			if key, value, _ = strings.Cut(s.value, "="); strings.Contains(key, ".") || !strings.Contains(s.value, "=") {
				if err := doc.Assign(s.value); err != nil {
					return nil, err
				}
				continue
			}
		}
		id := knob.ID(strings.ReplaceAll(strings.TrimSpace(key), "_", "-"))
		// A list is said with commas: of two flags neither would be meant alone.
		if before, twice := once[id]; twice {
			message := fmt.Sprintf("--%s comes twice, as %s and %s", id, escape.Line(before), escape.Line(value))
			if slices.Contains(knob.Searched(), id) && before != value {
				message += fmt.Sprintf("; a list is one flag: --%s %s,%s", id, escape.Line(before), escape.Line(value))
			}
			return nil, &usageError{message}
		}
		once[id] = value
		switch {
		case slices.Contains(free, id) && len(free) < len(knob.Searched()): // of all it is only what the file says
			return nil, &usageError{fmt.Sprintf("--free %s and --%s contradict each other", id, id)}
		case slices.Contains(knob.Searched(), id):
			err = q.say(id, value)
		default:
			err = doc.Set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
		if err != nil {
			return nil, err
		}
	}
	return q, q.settle(a, doc)
}

func (q *asked) say(id knob.ID, text string) error {
	p, _ := knob.Find(id)
	v, err := p.ParseValues(text)
	if err != nil {
		return err
	}
	q.values[id], q.texts[id] = v, v.Text()
	return nil
}

// single is the one value of a knob; false where there is none, or several.
func (q *asked) single(id knob.ID) (string, bool) {
	v, said := q.values[id]
	if !said {
		return "", false
	}
	_, one := v.Single()
	return q.texts[id], one
}

// several tells that a list or a range of a knob was said.
func (q *asked) several(id knob.ID) bool {
	_, said := q.values[id]
	_, one := q.single(id)
	return said && !one
}

// settle makes the setup that everything starts from. What can only contradict
// itself is held against the identities here, as eval does; the search finds out
// about the rest.
func (q *asked) settle(a *app, doc *setupdoc.Document) (err error) {
	said := func(ids ...knob.ID) bool {
		return !slices.ContainsFunc(ids, func(id knob.ID) bool {
			_, one := q.single(id)
			return !one
		})
	}
	set := func(ids ...knob.ID) {
		for _, id := range ids {
			if text, one := q.single(id); one && err == nil {
				err = doc.Set(string(id), text)
			}
		}
	}
	set(knob.GPUs, knob.Nodes, knob.Seq)
	if q.cut = said(knob.TP, knob.PP, knob.CP) && (said(knob.DP) || said(knob.GPUs) || said(knob.Nodes)); q.cut {
		set(knob.DP, knob.TP, knob.PP, knob.CP)
		_, batch := q.values[knob.GBS]
		switch q.counted = said(knob.MBS, knob.MicroBatches); {
		case q.counted:
			set(knob.MBS, knob.MicroBatches, knob.GBS)
		case !batch && !q.several(knob.MBS) && !q.several(knob.MicroBatches):
			q.asEval = true
			set(knob.MBS, knob.MicroBatches)
		}
	}
	if err != nil {
		return err
	}
	q.setup, err = doc.Setup(a.lib)
	if wrong := (*knob.ValueError)(nil); errors.As(err, &wrong) && !q.cut {
		// So many GPUs may need the one degree that was said, though others are free.
		err = nil
		set(knob.TP, knob.PP, knob.CP)
		if err == nil {
			q.setup, err = doc.Setup(a.lib)
		}
		if errors.As(err, &wrong) {
			if able, ok := q.cutFiner(a, doc); ok {
				q.setup, err = able, nil
			}
		}
	}
	return err
}

// cutFiner settles more GPUs than there can be copies: with a larger value of a degree
// that is searched anyway, whether it divides them or not. False where there is no such
// degree, or something else is wrong too.
func (q *asked) cutFiner(a *app, doc *setupdoc.Document) (engine.Setup, bool) {
	for _, id := range []knob.ID{knob.TP, knob.PP, knob.CP} {
		if _, one := q.single(id); one {
			continue
		}
		for n := 2; n <= layout.MaxGPUs/layout.MaxDegree; n *= 2 {
			if doc.Set(string(id), strconv.Itoa(n)) != nil {
				break
			}
			if s, err := doc.Setup(a.lib); err == nil {
				return s, true
			}
		}
	}
	return engine.Setup{}, false
}

// space turns what was said into lists of values. Ranges without a step stand
// for what may be legal in them.
func (q *asked) space(objective search.Objective) (search.Space, error) {
	sp := search.Space{}
	gpus, err := q.gpus(objective)
	if err != nil {
		return sp, err
	}
	sp.GPUs = gpus
	sp.Seq = q.doubling(knob.Seq, q.setup.Seq, sequences(objective))
	sp.GBS = q.doubling(knob.GBS, q.gbs(sp.GPUs, slices.Max(sp.Seq)), nil)
	cuts := divisorsOf(sp.GPUs)
	for _, varied := range []struct {
		id         knob.ID
		into       *[]int
		candidates func() []int
	}{
		{knob.DP, &sp.DP, func() []int { return cuts }},
		{knob.TP, &sp.TP, func() []int { return cuts }},
		{knob.PP, &sp.PP, func() []int { return cuts }},
		{knob.CP, &sp.CP, func() []int { return cuts }},
		{knob.ETP, &sp.ETP, func() []int { return cuts }},
		{knob.EP, &sp.EP, func() []int { return divisorsOf([]int{max(q.setup.Model.Experts, 1)}) }},
		{knob.VPP, &sp.VPP, func() []int { return upTo(1, min(q.setup.Model.Layers, maxChoices)) }},
		{knob.ZeRO, &sp.ZeRO, func() []int { return upTo(0, 3) }},
		{knob.MBS, &sp.MBS, func() []int { return divisorsOf(sp.GBS) }},
		{knob.MicroBatches, &sp.MicroBatches, func() []int { return divisorsOf(sp.GBS) }},
	} {
		v, said := q.values[varied.id]
		if !said {
			continue
		}
		*varied.into = v.Numbers(varied.candidates())
		if len(*varied.into) > maxChoices && varied.id == knob.MBS {
			return sp, q.tooMany(varied.id, maxChoices)
		}
	}
	for _, word := range q.values[knob.SP].Words {
		sp.SP = append(sp.SP, word == "on")
	}
	for _, word := range q.values[knob.Schedule].Words {
		sp.Schedules = append(sp.Schedules, schedule.Kind(word))
	}
	// On one rank all schedules are the same, and the first one gives the name.
	if i := slices.Index(sp.Schedules, schedule.OneFOneB); i > 0 {
		sp.Schedules = slices.Insert(slices.Delete(sp.Schedules, i, i+1), 0, schedule.OneFOneB)
	}
	for _, word := range q.values[knob.Recompute].Words {
		var r recipe.Recompute
		if err := r.UnmarshalText([]byte(word)); err != nil {
			return sp, err
		}
		sp.Recompute = append(sp.Recompute, r)
	}
	if len(sp.Recompute) > maxChoices {
		return sp, q.tooMany(knob.Recompute, maxChoices)
	}
	return sp, nil
}

// maxChoices is how many values a search takes of a knob that every cut is
// combined with.
const maxChoices = 255

func (q *asked) tooMany(id knob.ID, most int) error {
	return &knob.ValueError{Field: string(id), Given: q.texts[id], Allowed: fmt.Sprintf("at most %d values in a search; give a step or a factor, such as 1..64:x2", most)}
}

// gpus lists the numbers of GPUs. A range of them goes by whole nodes, and below
// one node by powers of two.
func (q *asked) gpus(objective search.Objective) ([]int, error) {
	node, most := q.setup.Cluster.Node(), knob.MaxGPUs
	if m := q.setup.Cluster.MaxGPUs; m > 0 {
		most = m
	}
	v, said := q.values[knob.GPUs]
	n, saidNodes := q.values[knob.Nodes]
	switch {
	case !said && !saidNodes && objective == search.FewestGPUs:
		var out []int
		for nodes := 1; nodes <= mostNodes && nodes*node <= most; nodes *= 2 {
			out = append(out, nodes*node)
		}
		return out, nil
	case !said && !saidNodes:
		return []int{q.setup.GPUs}, nil
	}
	var gpus, nodes []int
	var err error
	if said {
		if gpus, err = q.wholeNodes(knob.GPUs, &v, node, most); err != nil {
			return nil, err
		}
	}
	if !saidNodes {
		return gpus, nil
	}
	if nodes, err = q.wholeNodes(knob.Nodes, &n, 1, most/node); err != nil {
		return nil, err
	}
	for i := range nodes {
		nodes[i] = min(nodes[i]*node, knob.MaxGPUs)
	}
	if !said {
		return nodes, nil
	}
	both := slices.DeleteFunc(gpus, func(g int) bool { return !slices.Contains(nodes, (g+node-1)/node*node) })
	if len(both) == 0 {
		return nil, &knob.ConflictError{Fields: [2]string{string(knob.GPUs), string(knob.Nodes)}, Why: fmt.Sprintf("no number of GPUs that is asked for fills that many nodes of %d", node)}
	}
	return both, nil
}

// mostNodes is up to how many nodes the fewest GPUs are looked for where nobody
// says: 1, 2, 4 and so on.
const mostNodes = 2048

// wholeNodes lists the values of a count that goes in steps of a unit.
func (q *asked) wholeNodes(id knob.ID, v *knob.Values, unit, most int) ([]int, error) {
	low, high := v.Bounds()
	var candidates []int
	for n := 1; n < unit; n *= 2 {
		candidates = append(candidates, n)
	}
	first := (max(low, 1) + unit - 1) / unit * unit
	for n := first; n <= min(high, most) && len(candidates) <= 2*knob.MaxValues; n += unit {
		candidates = append(candidates, n)
	}
	out := v.Numbers(candidates)
	if len(out) > knob.MaxValues {
		return nil, q.tooMany(id, knob.MaxValues)
	}
	return out, nil
}

// doubling lists the values of a knob that has one value unless it is said; its
// ranges double from their lower end.
func (q *asked) doubling(id knob.ID, otherwise int, free []int) []int {
	v, said := q.values[id]
	switch {
	case said:
		low, high := v.Bounds()
		var candidates []int
		for n := max(low, 1); n <= high; n *= 2 {
			candidates = append(candidates, n)
		}
		return v.Numbers(candidates)
	case len(free) > 0:
		return free
	}
	return []int{otherwise}
}

// gbs is the global batch where the flags give no list of them.
func (q *asked) gbs(gpus []int, seq int) int {
	_, said := q.values[knob.GBS]
	if said || q.counted {
		return q.setup.GBS
	}
	if q.defaultGBS = true; q.asEval {
		return q.setup.GBS // what eval takes
	}
	return search.DefaultGBS(gpus, seq)
}

// Lengths between which the longest sequence is looked for where nobody says.
const (
	shortestSeq = 4 << 10
	longestSeq  = 1 << 20
)

// sequences are the lengths that a search for the longest tries by itself.
func sequences(objective search.Objective) []int {
	if objective != search.LongestSeq {
		return nil
	}
	var out []int
	for n := shortestSeq; n <= longestSeq; n *= 2 {
		out = append(out, n)
	}
	return out
}

func upTo(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// divisorsOf are the numbers that divide at least one of a list.
func divisorsOf(list []int) []int {
	var out []int
	for _, n := range list {
		for d := 1; d*d <= n; d++ {
			if n%d == 0 {
				out = append(out, d, n/d)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
