package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Degrees lists the knobs of which one that is named makes a layout the user's own; where
// none is, the layout is rank 1 of a search.
func Degrees() []knob.ID { return []knob.ID{knob.DP, knob.TP, knob.PP, knob.CP, knob.EP, knob.ZeRO} }

// Chosen says that a layout was not given and how it was chosen instead.
type Chosen struct {
	Layouts int  `json:"layouts"` // legal ones that were searched
	Found   bool `json:"found"`   // false: none fits, and the one that needs least memory is taken
	Partial bool `json:"partial,omitempty"`
	// ForMargin is that of the layout that was found (Found.ForMargin).
	ForMargin bool `json:"for_margin,omitempty"`
	// Tighter is a layout without margin that is faster by more than the error band; nil: none is shown.
	Tighter *Found `json:"-"`
	// Knobs are what the search filled in, with its values.
	Knobs map[knob.ID]any `json:"knobs,omitempty"`
	// Over is what the layout that needs least memory needs too much on its fullest GPU, where none fits.
	Over units.Bytes `json:"over_bytes,omitempty"`
	// HostOver is the same of the host memory of a node (engine.Memory.HostOver).
	HostOver units.Bytes `json:"host_over_bytes,omitempty"`
	// Smallest is the smallest number of GPUs of this kind on which one fits, where none does on those
	// that there are; 0: unknown, or none does.
	Smallest int    `json:"smallest_gpus,omitempty"`
	Batch    string `json:"-"` // what the batch is, where none was given and none is published
	Space    Space  `json:"-"` // that was searched
	Own      string `json:"-"` // flag that makes a layout one's own, with its value here: --tp 4
	host     string // HostOver in words
	run      string // that is published, of which precision and dispatcher are
	node     int    // GPUs of a node
	unasked  error  // why no search for Smallest can be made
	why      string // why no layout is legal, and the nearest values with which one is
	least    bool   // found, and the one that needs least memory: the search for the best was stopped
}

// Words tell in one line where the layout comes from; number writes a count.
func (c *Chosen) Words(number func(int) string) string {
	first, place := "", ""
	if c.Partial {
		first = "the first "
	}
	if c.ForMargin {
		place = ", " + MarginBrief
	}
	switch {
	case c.Found && c.least:
		return fmt.Sprintf("layout not given: of %s%s the one that needs least memory; %s to set one "+
			"yourself", first, number(c.Layouts), c.Own)
	case c.Found:
		return fmt.Sprintf("layout not given: best of %s%s%s; %s to set one yourself", first,
			number(c.Layouts), place, c.Own)
	case c.Over > 0 || c.HostOver > 0:
		return fmt.Sprintf("layout not given, and none of %s%s legal ones fits: the one that needs least "+
			"memory is %s; %s",
			first, number(c.Layouts), c.overWords(), c.smallestWords(number))
	case c.Partial:
		return "layout not given, and the search for one was stopped before it found any: every degree is 1"
	}
	if c.Layouts > 0 {
		return fmt.Sprintf("layout not given, and none of %s legal ones fits: every degree is 1",
			number(c.Layouts))
	}
	if c.why != "" {
		return "layout not given, and no legal one found: " + c.why + ". Every degree is 1"
	}
	return "layout not given, and no legal one found: every degree is 1"
}

// Brief is Words of a setup whose model or machine was just said.
func (c *Chosen) Brief(number func(int) string) string {
	first, place := "", ""
	if c.Partial {
		first = "the first "
	}
	if c.ForMargin {
		place = ", " + MarginBrief
	}
	switch {
	case c.Found && c.least:
		return fmt.Sprintf("the one of %s%s that needs least memory", first,
			units.PluralAs(number, c.Layouts, "layout"))
	case c.Found:
		return fmt.Sprintf("best of %s%s%s", first, units.PluralAs(number, c.Layouts, "layout"), place)
	case c.Over > 0 || c.HostOver > 0:
		return fmt.Sprintf("none of %s%s fits: %s at least; %s", first,
			units.PluralAs(number, c.Layouts, "layout"), c.overWords(), c.smallestWords(number))
	case c.Partial:
		return "the search for a layout was stopped before it found any"
	}
	if c.why != "" {
		return "no layout is legal: " + c.why
	}
	return "no layout is legal"
}

// overWords tell how much the layout that needs least memory needs too much.
func (c *Chosen) overWords() string {
	switch over := fmt.Sprintf("%.1f GiB over", c.Over.GiB()); {
	case c.HostOver <= 0:
		return over
	case c.Over <= 0:
		return c.host
	default:
		return over + " and " + c.host
	}
}

// smallestWords tell the smallest machine on which a layout fits.
func (c *Chosen) smallestWords(number func(int) string) string {
	switch {
	case c.unasked != nil:
		return "which larger number of GPUs would do is not known (" + c.unasked.Error() + ")"
	case c.Smallest == 0 && c.Partial:
		return "the search for a machine that would do was stopped"
	case c.Smallest == 0:
		return "none of the larger numbers of GPUs that were tried would do"
	}
	return fmt.Sprintf("%s (%s) would do", units.PluralAs(number, c.Smallest, "GPU"),
		units.PluralAs(number, (c.Smallest+max(c.node, 1)-1)/max(c.node, 1), "node"))
}

// Filled lists what the search filled in, knob by knob: dp 8, tp 4, pp 4. Degrees of 1 and what
// follows from the others are left out.
func (c *Chosen) Filled() string {
	var out []string
	for _, id := range filledOrder() {
		value, ok := c.Knobs[id]
		_, degree := value.(int)
		switch id {
		case knob.VPP, knob.CP, knob.EP, knob.ETP:
			ok = ok && degree && value != 1
		case knob.MicroBatches, knob.SP:
			ok = false
		default:
		}
		if ok {
			out = append(out, fmt.Sprintf("%s %v", id, value))
		}
	}
	if c.run != "" {
		out[len(out)-1] += " of " + c.run
	}
	return strings.Join(out, ", ")
}

// ForModel lists the knobs whose values go with a model and a machine: they are chosen again for another
// one unless they are given.
func ForModel() []knob.ID {
	return append(filledOrder(), knob.HSDP, knob.GroupSize, knob.MaxInFlight, knob.Split, knob.MTP)
}

// filledOrder lists the knobs that a search fills in, as Filled has them.
func filledOrder() []knob.ID {
	return []knob.ID{
		knob.DP, knob.TP, knob.PP, knob.VPP, knob.CP, knob.EP, knob.ETP, knob.SP, knob.ZeRO,
		knob.MBS, knob.MicroBatches, knob.GBS, knob.Seq, knob.Schedule, knob.Recompute,
		knob.Precision, knob.Dispatcher,
	}
}

// tighter notes the fastest without margin of those found that beats the first by more than the band.
func (c *Chosen) tighter(list []Found) {
	limit := list[0].PessimisticStep / units.Seconds(1+list[0].Report.Time.ErrorBand)
	for i := range list {
		if f := &list[i]; f.tight && !list[0].tight && f.PessimisticStep < limit {
			limit, c.Tighter = f.PessimisticStep, f
		}
	}
}

// fill notes what the search filled in of a setup.
func (c *Chosen) fill(q *Query, s *engine.Setup) {
	c.Own, c.node, c.Knobs = "--tp "+strconv.Itoa(s.TP), s.Cluster.Node(), map[knob.ID]any{}
	if s.Stack.Traits().DataParallelOnly {
		c.Own = "--zero " + strconv.Itoa(s.ZeRO)
	}
	r := s.Published()
	for _, id := range filledOrder() {
		k, ok := knob.Find(id)
		switch value := k.Text(*s); {
		case !ok || q.Given(id):
			continue
		case id == knob.Precision || id == knob.Dispatcher:
			if !q.follows[id] || r == nil || value == string(recipe.BF16) || // which most have anyway
				value != string(r.Precision) && value != string(r.Dispatcher) {
				continue
			}
			c.run = r.Run(strconv.Itoa)
		}
		c.Knobs[id] = k.Value(s)
	}
	switch tokens, r := s.PublishedTokens(s.GPUs); {
	case !q.UnsetBatch:
	case tokens == 0:
		c.Batch = UsualBatch(s, s.GBS, s.Seq)
	case !s.NearPublished():
		c.Batch = fmt.Sprintf("%s, which divide well over %s, in place of the %s of %s",
			units.PluralAs(comma, s.GBS, "sequence"), units.PluralAs(comma, s.GPUs, "GPU"),
			comma(tokens/max(s.Seq, 1)), r.Run(comma))
	}
}

// comma writes a count as people read it.
func comma(n int) string { return record.Thousands(strconv.Itoa(n)) }

// pipelined leaves layouts without a pipeline out where a schedule is given that only pipelines have.
func (q *Query) pipelined(p *Problem) {
	if !q.Given(knob.Schedule) || q.Given(knob.PP) || slices.Contains(p.Space.Schedules, schedule.OneFOneB) {
		return
	}
	var several []int
	for n := 2; n <= min(MaxPP, p.Setup.Model.Layers, p.Setup.GPUs); n++ {
		if p.Setup.GPUs%n == 0 {
			several = append(several, n)
		}
	}
	p.Space.PP = several // none where there is one GPU: every value
}

// withBatch returns the query with the nearest global batch that leaves layouts, where nobody gave one and
// the default excludes all by itself.
func (q *Query) withBatch(c *Conflict) (Query, bool) {
	of := *q
	if c == nil || !q.UnsetBatch || len(c.Fields) != 1 || c.Nearest[string(knob.GBS)] == 0 {
		return of, false
	}
	of.UnsetBatch, of.Values, of.Texts = false, maps.Clone(q.Values), maps.Clone(q.Texts)
	return of, of.Set(knob.GBS, strconv.Itoa(c.Nearest[string(knob.GBS)])) == nil
}

// withBatch notes that a batch was taken in place of the default one.
func (c Chosen) withBatch(gbs, usual int) Chosen {
	if c.Knobs != nil {
		c.Knobs[knob.GBS] = gbs
		c.Batch = fmt.Sprintf("the nearest to the default of %s at which a layout is legal",
			units.PluralAs(comma, usual, "sequence"))
	}
	return c
}

// Choose searches for the best layout of a query on a number of cores. Where none fits it returns
// the one that needs least memory, and Chosen tells the smallest machine that would do. The layout is
// empty where none is legal, or the context ended before one was found.
func (q *Query) Choose(ctx context.Context, workers int) (engine.Setup, Chosen) {
	p, err := q.Problem()
	if err != nil {
		return engine.Setup{}, Chosen{}
	}
	p.Workers = workers
	given, all := p, p.Space.PP
	q.pipelined(&p)
	r := Run(ctx, p, nil)
	if len(r.Best) == 0 && p.Space.Accepts != nil {
		p.Space.Accepts, p.Space.Refused = nil, true // better one that its launcher refuses than none
		r = Run(ctx, p, nil)
	}
	if len(r.Best) == 0 && len(p.Space.PP) != len(all) {
		p.Space.PP = all // no pipeline fits, or none is legal
		r = Run(ctx, p, nil)
	}
	out := Chosen{Layouts: r.Legal, Found: len(r.Best) > 0, Partial: r.Partial, Space: p.Space}
	if !out.Found {
		least := q.least(ctx, p, &out)
		if out.Layouts == 0 && !out.Partial {
			c := Explain(ctx, given, nil)
			if near, ok := q.withBatch(c); ok {
				best, chosen := near.Choose(ctx, workers)
				return best, chosen.withBatch(best.GBS, c.batch)
			}
			out.why = q.whyNone(c)
		}
		return least, out
	}
	out.fill(q, &r.Best[0].Setup)
	out.ForMargin = r.Best[0].ForMargin
	out.tighter(r.Best)
	return r.Best[0].Setup, out
}
