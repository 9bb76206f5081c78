package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// writeText prints what was asked, the table of layouts, and how to have the best
// one again; where there is none, why.
func (o *answer) writeText(a *app) error {
	t := newPage(a.stdout)
	o.head(t, a)
	r := &o.result
	if len(r.Best) == 0 {
		o.writeReason(t, a)
		return t.Flush()
	}
	t.printf("\nBEST  %s\n", o.aim())
	o.table(t, r.Best)
	if o.problem.Front {
		t.printf("\nFRONT  of speed and memory: no layout is faster with less memory\n")
		o.table(t, r.Front)
	}
	if words := o.endWords(); words != "" {
		t.lines("  " + words)
	}
	o.nearness(t)
	if flags, ok := setupdoc.Flags(r.Best[0].Setup, a.lib); ok {
		t.printf("\nThe first of them again, in full (--json and --csv say it of every row):\n  meshscope eval %s\n", flags)
	} else {
		t.printf("\nNo flags give the first of them again: --json has its report, which --setup takes.\n")
	}
	return t.Flush()
}

// head says what was searched, and how much of it.
func (o *answer) head(t page, a *app) {
	p, r := &o.problem, &o.result
	s := &p.Setup
	gpus, batches, lengths := span(o.numbers()), span(o.tried()), span(p.Space.Seq)
	nodes := ""
	if len(p.Space.GPUs) == 1 {
		nodes = ", " + plural(s.Nodes(), "node")
	}
	t.printf("%s on %s x %s%s (%s)\n", name(s.Model.Name, s.Model.ID), gpus, name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), nodes, name(s.Cluster.ID, s.Cluster.Name))
	t.printf("  batch    %s sequences of %s tokens = %s tokens\n", batches, lengths, o.batchTokens())
	if o.asked.defaultGBS {
		if words := o.batchWords(); words == o.defaultWords() {
			t.printf("           nobody said the batch: %s\n", words)
		} else {
			t.hanging("           ", "nobody said the batch: "+words)
		}
	}
	if given := o.given(); given != "" {
		t.printf("  given    %s\n", given)
	}
	if limits := o.limits(); limits != "" {
		t.printf("  limits   %s\n", limits)
	}
	if words := o.gpuWords(); words != "" {
		t.hanging("  GPUs     ", words)
	}
	t.printf("  searched %s; a bound excludes %s, %s evaluated in full", plural(r.Legal, "legal layout"), commas(r.Excluded), commas(r.Evaluated))
	if a.screen != nil {
		t.printf(", in %.2f s", o.seconds)
	}
	t.printf("\n")
	if words := o.leftOut(); words != "" {
		t.hanging("  left out ", words)
	}
	if r.Partial {
		t.printf("  PARTIAL  stopped with %s of the space searched: there may be better layouts\n", percent(r.Share))
	}
}

// leftOut is what the search does not look at by itself although it could fit or be
// faster: knobs that it does not turn, and values beyond its bounds.
func (o *answer) leftOut() string {
	var words []string
	if n := o.problem.Setup.Offload; n == "" || n == recipe.OffloadNone {
		words = append(words, "offload (--offload optimizer)")
	}
	if _, said := o.asked.values[knob.VPP]; !said {
		words = append(words, fmt.Sprintf("vpp above %d", search.MaxVPP))
	}
	if len(o.problem.Space.Schedules) == 0 {
		words = append(words, "schedules but 1f1b and interleaved (--schedule all)")
	}
	return strings.Join(words, ", ")
}

// batchTokens is the global batch in tokens: one number, or from the least to the
// most.
func (o *answer) batchTokens() string {
	sp, batches := &o.problem.Space, o.tried()
	low := float64(slices.Min(batches)) * float64(slices.Min(sp.Seq))
	high := float64(slices.Max(batches)) * float64(slices.Max(sp.Seq))
	if low == high {
		return count(low)
	}
	return count(low) + " to " + count(high)
}

// defaultWords say which global batch is taken where nobody says one.
func (o *answer) defaultWords() string {
	sp := &o.problem.Space
	switch {
	case o.asked.asEval:
		return "as eval, " + batchDepth(&o.asked.setup)
	case len(sp.Seq) > 1:
		return "so many sequences that the longest have " + search.UsualBatch()
	case slices.Max(sp.Seq) >= 2*search.TargetTokens:
		return "one sequence has more tokens than the usual batch, " + search.UsualBatch()
	}
	least := ""
	if _, said := o.asked.values[knob.MBS]; said { // a micro-batch may be more than that
		least = "at least "
	}
	return fmt.Sprintf("%s; eval takes %s%d %s", search.UsualBatch(), least, knob.DefaultBatchDepth, knob.BatchDepthUnit)
}

// batchDepth is the global batch of a setup as the default counts it: the default
// of the engine, or more where that is no whole number of micro-batches.
func batchDepth(s *engine.Setup) string {
	return trim(float64(s.GBS)/float64(max(s.DP*s.PP, 1))) + " " + knob.BatchDepthUnit
}

// aim is what the best is best in.
func (o *answer) aim() string {
	return map[search.Objective]string{
		search.Throughput:  "most tokens per second and GPU first",
		search.Cost:        "cheapest run first: the most tokens per GPU and hour",
		search.FewestGPUs:  o.fewestAim(),
		search.LargestMBS:  "largest micro-batch first, then the fastest",
		search.LongestSeq:  "longest sequence first, then the fastest",
		search.LeastMemory: "least memory first, then the fastest",
	}[o.problem.Objective]
}

func (o *answer) fewestAim() string {
	if o.problem.Space.RaiseGBS {
		return "fewest GPUs first, of these the smallest batch, then the fastest"
	}
	return "fewest GPUs first, then the fastest"
}

// given lists the knobs that were given, in their order.
func (o *answer) given() string {
	var words []string
	for _, id := range knob.Searched() {
		if text, ok := o.asked.texts[id]; ok && id != knob.GPUs && id != knob.Nodes && id != knob.GBS && id != knob.Seq {
			words = append(words, string(id)+" "+escape.Line(text))
		}
	}
	return strings.Join(words, ", ")
}

// limits are what a layout must meet besides.
func (o *answer) limits() string {
	p := &o.problem
	var words []string
	if p.Headroom > 0 {
		words = append(words, fmt.Sprintf("%s of the memory stays free", percent(p.Headroom)))
	}
	if p.Deadline > 0 {
		words = append(words, o.deadline())
	}
	if p.Space.Refused {
		words = append(words, "also what launchers refuse")
	}
	return strings.Join(words, ", ")
}

func (o *answer) deadline() string {
	text := fmt.Sprintf("%s tokens within %s", count(o.problem.Tokens), lasting(o.problem.Deadline))
	if g := o.problem.Setup.Goodput; g > 0 {
		text += fmt.Sprintf(" of steps (goodput %s %%)", trim(g))
	}
	return text
}

// span is 64, or "64 to 512 (4 values)".
func span(list []int) string {
	if len(list) == 1 {
		return commas(list[0])
	}
	return fmt.Sprintf("%s to %s (%d values)", commas(list[0]), commas(list[len(list)-1]), len(list))
}

// knobColumn is a knob as a column of the table.
type knobColumn struct {
	id     knob.ID
	head   string // empty: the knob's name
	always bool   // a column also where all rows agree
	dull   string
}

// knobColumns are the knobs in the order of the table. Where all rows agree, a
// value is given once, unless it is the one that means "not used".
func knobColumns() []knobColumn {
	return []knobColumn{
		{id: knob.GPUs, head: "GPUs"},
		{id: knob.DP, always: true},
		{id: knob.TP, always: true},
		{id: knob.PP, always: true},
		{id: knob.VPP, dull: "1"},
		{id: knob.CP, dull: "1"},
		{id: knob.EP, dull: "1"},
		{id: knob.ETP, dull: "1"},
		{id: knob.SP},
		{id: knob.ZeRO},
		{id: knob.MBS},
		{id: knob.MicroBatches, head: "m"},
		{id: knob.GBS},
		{id: knob.Seq},
		{id: knob.Recompute},
		{id: knob.Schedule},
	}
}

// of is the value of the knob in a setup.
func (c *knobColumn) of(s *engine.Setup) string {
	k, _ := knob.Find(c.id)
	return k.Text(*s)
}

// table prints layouts: the knobs in which they differ as columns, the others
// below it, and how far the figures can be trusted.
func (o *answer) table(t page, list []search.Found) {
	rows := make([][]string, len(list)+1)
	rows[0] = []string{"rank"}
	for i := range list {
		rows[i+1] = []string{rank(i, &list[i])}
	}
	var same []string
	for _, c := range knobColumns() {
		first, differ := c.of(&list[0].Setup), false
		for i := range list {
			differ = differ || c.of(&list[i].Setup) != first
		}
		switch {
		case differ || c.always:
			rows[0] = append(rows[0], cmp.Or(c.head, string(c.id)))
			for i := range list {
				rows[i+1] = append(rows[i+1], c.of(&list[i].Setup))
			}
		case first != c.dull && !o.headSays(c.id):
			same = append(same, string(c.id)+" "+first)
		}
	}
	rows[0] = append(rows[0], "step", "MFU", "tok/s/GPU", "GiB", "free GiB")
	run, agree := o.problem.Tokens > 0, bandsAgree(list)
	if run {
		rows[0] = append(rows[0], "days", "GPU-hours", "cost")
	}
	if !agree {
		rows[0] = append(rows[0], "±step", "±GiB")
	}
	for i := range list {
		f := &list[i]
		rows[i+1] = append(rows[i+1], seconds(f.Report.Time.Step), fmt.Sprintf("%.1f %%", 100*f.Report.Throughput.MFU), commas(int(f.Report.Throughput.TokensPerSecondPerGPU+0.5)),
			fmt.Sprintf("%.1f", f.Report.Memory.Peak.GiB()), fmt.Sprintf("%.1f", f.Free.GiB()))
		if run {
			rows[i+1] = append(rows[i+1], fmt.Sprintf("%.1f", f.Report.Run.Days), figure.Short(f.Report.Run.GPUHours), costWords(f.Report.Run))
		}
		if !agree {
			rows[i+1] = append(rows[i+1], shortBand(&f.Report.Time.Evidence), shortBand(&f.Report.Memory.Evidence))
		}
	}
	t.tight(rows)
	if len(same) > 0 {
		t.lines("  all of them: " + strings.Join(same, ", "))
	}
	o.footnotes(t, list, agree)
}

// headSays tells that the head gives the only value of a knob.
func (o *answer) headSays(id knob.ID) bool {
	sp := &o.problem.Space
	list, ok := map[knob.ID][]int{knob.GPUs: sp.GPUs, knob.GBS: sp.GBS, knob.Seq: sp.Seq}[id]
	return ok && len(list) == 1 && (id != knob.GBS || !sp.FollowGBS)
}

// lines prints a text in lines of at most 78 columns.
func (p page) lines(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for line := range strings.Lines(wrap(strings.TrimSpace(text), 78-len(indent))) {
		p.printf("%s%s\n", indent, strings.TrimSpace(line))
	}
}

// hanging prints a text beside a word, in lines of at most 78 columns.
func (p page) hanging(head, text string) {
	for line := range strings.Lines(wrap(text, 78-len(head))) {
		p.printf("%s%s\n", head, strings.TrimSpace(line))
		head = strings.Repeat(" ", len(head))
	}
}

// rank is the place of a row, marked where some launcher refuses the layout.
func rank(i int, f *search.Found) string {
	mark := ""
	if knob.LauncherRejects(f.Report.Problems) {
		mark = "*"
	}
	return mark + strconv.Itoa(i+1)
}

// bandsAgree says whether all rows can be trusted alike.
func bandsAgree(list []search.Found) bool {
	first := &list[0].Report
	for i := range list {
		r := &list[i].Report
		if r.Time.Words() != first.Time.Words() || r.Memory.Words() != first.Memory.Words() {
			return false
		}
	}
	return true
}

// costWords is what a run costs; a dash where no price is known.
func costWords(r *engine.Run) string {
	if r.Cost == nil {
		return "-"
	}
	return figure.Dollars(*r.Cost)
}

func shortBand(e *engine.Evidence) string {
	if !e.Validated() {
		return "-"
	}
	return e.Band("±")
}

func (o *answer) footnotes(t page, list []search.Found, agree bool) {
	r, open, refused := &list[0].Report, false, false
	for i := range list {
		open = open || !list[i].Report.Time.Validated() || !list[i].Report.Memory.Validated()
		refused = refused || knob.LauncherRejects(list[i].Report.Problems)
	}
	switch {
	case agree && r.Time.Words() == r.Memory.Words():
		t.lines("  step times and memory: " + r.Time.Words())
	case agree:
		t.lines("  step times: " + r.Time.Words())
		t.lines("  memory: " + r.Memory.Words())
	case open:
		t.lines("  ± is what nine of ten published runs like it stay within; - is " + engine.NotValidated)
	default:
		t.lines("  ± is what nine of ten published runs like it stay within")
	}
	if refused {
		t.lines("  * some launcher refuses this layout; eval says which")
	}
}
