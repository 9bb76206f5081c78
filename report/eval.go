package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// document returns the evaluation for people.
func (d *Evaluation) document() *Document {
	setup := SetupSection(&d.Setup, &d.report, d.UnsetBatch && (d.Chosen == nil || len(d.Chosen.Knobs) == 0))
	if facts, ok := setup.Blocks[0].(Facts); ok && (d.Chosen != nil || d.Partial != "") {
		setup.Blocks[0] = d.chosenFacts(facts)
	}
	out := &Document{Title: Title(&d.Setup), Sections: []Section{setup, d.flags()}}
	out.Sections = append(out.Sections, problems(&d.report)...)
	for i := range d.Screen {
		t := d.Screen[i]
		out.Sections = append(out.Sections, Section{Heading: t.Title, Filed: true, Blocks: []Block{&t}})
	}
	if d.Legal {
		out.Sections = append(out.Sections, figureSections(&d.Setup, &d.report, true)...)
		for i := range out.Sections {
			if words := PriceWords(d.Prices); words != "" && out.Sections[i].Heading == stepHeading {
				out.Sections[i].say("not given and worth most to the step: " + words)
			}
		}
		out.Sections = append(out.Sections, Caveats(&d.report)...)
	}
	return out
}

// chosenFacts adds to the facts of a setup how its layout and its batch were chosen.
func (d *Evaluation) chosenFacts(facts Facts) Facts {
	layout, batch := d.Partial, ""
	if c := d.Chosen; c != nil {
		layout, batch = c.Words(figure.Comma), c.Batch
	}
	var out Facts
	for _, f := range facts {
		out = append(out, f)
		switch {
		case f.Name == "layout":
			out = append(out, Fact{"", layout})
			if d.Chosen != nil && d.Chosen.ForMargin {
				out = append(out, Fact{"", search.MarginRule})
			}
			if d.Chosen != nil && d.Chosen.Tighter != nil {
				t := d.Chosen.Tighter
				out = append(out, Fact{"", fmt.Sprintf("a tight one, %s free, takes %s: search shows it",
					figure.Memory(t.Free), figure.Seconds(t.Report.Time.Step))})
			}
			if d.Chosen != nil && len(d.Chosen.Knobs) > 0 {
				out = append(out, Fact{"", "the search took " + d.Chosen.Filled()})
			}
		case f.Name == "batch" && batch != "":
			out = append(out, Fact{"", "global batch not given; using " + batch})
		}
	}
	return out
}

// Title returns the model, the number of GPUs and the machine of a setup.
func Title(s *engine.Setup) string {
	return fmt.Sprintf("%s on %s x %s, %s (%s)", name(s.Model.Name, s.Model.ID), figure.Comma(s.GPUs),
		name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), figure.Plural(s.Nodes(), "node"),
		s.Cluster.Called(name(s.Cluster.ID, s.Cluster.Name)))
}

// SetupSection lists the setup, below its title. unsetBatch tells that no global batch was
// given.
func SetupSection(s *engine.Setup, r *engine.Report, unsetBatch bool) Section {
	var facts Facts
	if m := r.Model; m != nil {
		text := figure.FineCount(m.Parameters) + " parameters"
		if m.ActiveParameters != m.Parameters {
			text += ", " + figure.FineCount(m.ActiveParameters) + " active"
		}
		facts = append(facts,
			Fact{"model", fmt.Sprintf("%s, %.4g GFLOP per token to train (%s attention)", text,
				m.TrainingFLOPs/1e9, m.Convention)})
	}
	facts = append(facts,
		Fact{"layout", fmt.Sprintf("dp %d  tp %d  pp %d  vpp %d  cp %d  ep %d  etp %d  sp %s  zero %d", s.DP,
			s.TP, s.PP, s.VPP, s.CP, s.EP, s.ETP, figure.OnOff(s.SP), s.ZeRO)},
		Fact{"batch", fmt.Sprintf("%s = mbs %s x %s x dp %d; %s tokens each",
			figure.Plural(s.GBS, "sequence"), figure.Comma(s.MBS),
			figure.Plural(s.MicroBatches, "micro-batch"), s.DP, figure.Comma(s.Seq))})
	published := publishedWords(s)
	for _, words := range []string{published, StarvedWords(s)} {
		if words != "" {
			facts = append(facts, Fact{"", words})
		}
	}
	if unsetBatch && published == "" {
		depth, usual := BatchDepth(s), search.UnsetGBS(s, []int{s.GPUs}, s.Seq)
		if s.Frozen() {
			depth = search.UsualBatch(s, usual, s.Seq)
		}
		facts = append(facts, Fact{"", "global batch not given; using " + depth})
		if tokens, _ := s.PublishedTokens(s.GPUs); tokens == 0 && !s.Frozen() {
			facts = append(facts, Fact{"", fmt.Sprintf("(search uses %s by default: --gbs %d)",
				search.UsualBatch(s, usual, s.Seq), usual)})
		}
	}
	if why := largeBatch(s, r); why != "" {
		facts = append(facts, Fact{"", why})
	}
	gradients := string(s.GradDtype)
	low := s.WeightDtype == recipe.WeightsBF16 && s.Stack.Traits().LowWeights
	if low && s.GradDtype != recipe.GradBF16 { // kept as the weights are
		gradients = "bf16 summed in fp32"
	}
	facts = append(facts,
		Fact{"recipe", fmt.Sprintf("%s, gradients %s, %s, %s attention, recompute %s", s.Precision,
			gradients, s.Optimizer, s.Attention, s.Recompute)},
		Fact{"", fmt.Sprintf("schedule %s, stack %s", s.Schedule, s.Stack)})
	if s.Frozen() {
		kind := map[bool]string{false: "LoRA", true: "DoRA"}[s.DoRA]
		facts = append(facts, Fact{"", fmt.Sprintf("%s of rank %.0f on %s, frozen weights in %s", kind,
			s.Rank, cmp.Or(s.Targets, recipe.TargetWords()[0]), cmp.Or(s.BaseDtype, recipe.BaseBF16))})
	}
	if s.WeightDtype == recipe.WeightsBF16 {
		facts = append(facts, Fact{"", "weights trained in bf16"})
	}
	if s.InBackward {
		facts = append(facts, Fact{"", "each weight updated in the backward, its gradient then freed"})
	}
	if s.SharesHeads() {
		facts = append(facts, Fact{"", "cp exchanges the sequence for heads (a2a, Ulysses)"})
	}
	if s.HPZ > 1 {
		facts = append(facts, Fact{"", fmt.Sprintf("a second copy of the weights over %d GPUs (hpZ)", s.HPZ)})
	}
	if s.QWZ && s.DenseRanks() > 1 {
		facts = append(facts, Fact{"", "weights gathered in int8 (qwZ)"})
	}
	if s.FourBits() {
		facts = append(facts, Fact{"", "gradients reduced in int4 between nodes (qgZ)"})
	}
	if s.Compile {
		facts = append(facts, Fact{"", "blocks and loss compiled"})
	}
	if words := softwareWords(s); words != "" {
		facts = append(facts, Fact{"", words})
	}
	return Section{Blocks: []Block{facts}}
}

// largeBatch says of a global batch that it has more tokens than those of large models; empty where it
// has not, or a problem of the report says so.
func largeBatch(s *engine.Setup, r *engine.Report) string {
	tokens := s.Tokens()
	if tokens < search.TargetTokens || advise.UsualBatch(tokens) ||
		slices.ContainsFunc(r.Problems, func(p engine.Problem) bool { return p.Field == string(knob.GBS) }) {
		return ""
	}
	return fmt.Sprintf("%s tokens a step, above the 4 to 60 M of large models (--gbs counts sequences; "+
		"in tokens: 4Mtok)", knob.TokenWords(tokens))
}

// softwareWords lists what the software runs where a knob has a say, auto resolved:
// "dispatcher deepep, tp-overlap none".
func softwareWords(s *engine.Setup) string {
	if s.Cluster.Calibration == nil {
		return ""
	}
	run := s.Cluster.Calibration.For(s.Stack).Run(&s.Software)
	var parts []string
	for _, f := range recipe.SoftwareFields() {
		k, ok := knob.Find(knob.ID(f.Knob))
		if word := *f.Of(&run); ok && word != "" && word != recipe.Auto {
			if k.Off != nil {
				if why, _ := k.Off(s); why != "" {
					continue
				}
			}
			parts = append(parts, f.Knob+" "+word)
		}
	}
	return strings.Join(parts, ", ")
}

// BatchDepth writes the global batch of a setup as the default counts it: that of the
// engine, or more if that is no whole number of micro-batches.
func BatchDepth(s *engine.Setup) string {
	return figure.Trim(float64(s.GBS)/float64(max(s.DP*s.PP, 1))) + " " + knob.BatchDepthUnit
}

// flags lists the setup as flags, for files.
func (d *Evaluation) flags() Section {
	t := &Table{Head: []string{"setup", "flag", "value", "unit"}}
	params := knob.All()
	for i := range params {
		if p := &params[i]; p.Text(d.Setup) != "" {
			t.add(Word(p.Label), Word("--"+string(p.ID)), Word(p.Text(d.Setup)), Word(p.Unit))
		}
	}
	t.add(Word("model"), Word("--model"), Word(d.Setup.Model.ID), Word(""))
	t.add(Word("cluster"), Word("--cluster"), Word(d.Setup.Cluster.ID), Word(""))
	out := Section{Filed: true, Blocks: []Block{t}}
	if d.Command != "" {
		out.add(Command(d.Command))
	}
	out.add(Line("meshscope " + d.Version))
	return out
}

// problems lists errors, then warnings, each with the nearest legal values.
func problems(r *engine.Report) []Section {
	var out []Section
	for _, kind := range []struct {
		severity layout.Severity
		heading  string
	}{{layout.Error, "Illegal"}, {layout.Warning, "Warnings"}} {
		s := Section{Heading: kind.heading}
		for _, p := range r.Problems {
			if p.Severity != kind.severity {
				continue
			}
			item := Item{Text: p.Field + ": " + p.Message}
			if len(p.Nearest) > 0 {
				item.Details = []string{"nearest: " + Nearest(p.Field, p.Nearest)}
			}
			s.add(item)
		}
		if len(s.Blocks) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Nearest writes {"tp":4,"dp":8} as "tp 4, with dp 8", the illegal field first.
func Nearest(field string, values map[string]any) string {
	others := make([]string, 0, len(values))
	for f, v := range values {
		if f != field {
			others = append(others, nearestOne(f, v))
		}
	}
	slices.Sort(others)
	own, ok := values[field]
	switch {
	case !ok:
		return strings.Join(others, ", ")
	case len(others) == 0:
		return nearestOne(field, own)
	}
	return nearestOne(field, own) + ", with " + strings.Join(others, ", ")
}

// nearestOne writes a field with its value as a flag takes it: mtp off.
func nearestOne(field string, value any) string {
	return field + " " + knob.Worded(value)
}

// Overview returns the report without the tables of ranks and traffic, which screens have
// themselves.
func Overview(s *engine.Setup, r *engine.Report) *Document {
	out := &Document{Title: Title(s), Sections: append([]Section{SetupSection(s, r, false)}, problems(r)...)}
	if r.Legal {
		out.Sections = append(out.Sections, figureSections(s, r, false)...)
	}
	return out
}

// figureSections returns the sections of a legal report; full adds the tables of ranks and
// traffic.
func figureSections(s *engine.Setup, r *engine.Report, full bool) []Section {
	var out []Section
	add := func(there bool, section func() Section) {
		if there {
			out = append(out, section())
		}
	}
	add(r.Memory != nil, func() Section { return memorySection(s, r, full) })
	add(r.Pipeline != nil, func() Section { return pipelineSection(r) })
	add(full && len(r.Communication) > 0, func() Section { return communicationSection(r) })
	add(r.Time != nil, func() Section { return stepSection(s, r) })
	add(r.Throughput != nil, func() Section { return throughputSection(s, r.Throughput) })
	add(r.Run != nil, func() Section { return runSection(s, r) })
	return out
}

// Caveats lists what a report assumes and what it does not model.
func Caveats(r *engine.Report) []Section {
	var out []Section
	for _, list := range []Section{
		{Heading: "Assumed", Blocks: items(r.Assumptions)},
		{Heading: "Not modelled", Blocks: items(r.NotModelled)},
	} {
		if len(list.Blocks) > 0 {
			out = append(out, list)
		}
	}
	return out
}

// fitWord returns whether a setup fits, the error band of its memory considered.
func fitWord(m *engine.Memory) string {
	if m.Fit == engine.Tight {
		return "tight, " + tightWords(m)
	}
	return m.FitWord()
}

// tightWords tells on which side of the usable memory the peak is.
func tightWords(m *engine.Memory) string {
	if m.Fits {
		return figure.GiB(m.Usable-m.Peak) + " GiB free, less than the error band"
	}
	return figure.GiB(m.Peak-m.Usable) + " GiB over, less than the error band"
}

// FitNote says in a sentence that the layout of a file does not fit, or is tight; none where it
// fits.
func FitNote(m *engine.Memory) []string {
	switch {
	case m == nil || m.Fit == engine.Fits:
		return nil
	case m.Fit == engine.Over:
		return []string{"This layout does not fit: " + m.Reason + "."}
	}
	return []string{"This layout is " + fitWord(m) + "."}
}

// evidence adds which runs an error band comes from.
func (s *Section) evidence(e *engine.Evidence) {
	s.say(e.Words())
}

func memorySection(s *engine.Setup, of *engine.Report, ranks bool) Section {
	m := of.Memory
	out := Section{
		Heading: "Memory",
		Lead: fmt.Sprintf("%s: %.2f GiB %s of %.2f GiB per GPU; fullest rank %d", fitWord(m), m.Peak.GiB(),
			m.Band("±"), m.Usable.GiB(), m.PeakRank),
	}
	t := &Table{
		Head: []string{
			"rank", "layers", "in flight", "weights", "gradients", "optimizer", "activations",
			"logits", "buffers", "allocated", "overhead", "total",
		},
		Short: []string{
			"rank", "layers", "live", "weights", "grads", "optim", "activ", "logits", "buff",
			"alloc", "ovhd", "total",
		},
		Folds: true, Ends: true, Pinned: m.PeakRank,
	}
	for i := range m.Ranks {
		r := &m.Ranks[i]
		row := []Cell{
			right(strconv.Itoa(r.Rank)), right(strconv.Itoa(r.Layers)),
			right(figure.Trim(r.InFlight)),
		}
		for _, b := range []units.Bytes{
			r.Weights, r.Gradients, r.Optimizer, r.Activations, r.Logits,
			r.Buffers, r.Allocated, r.Overhead, r.Total,
		} {
			row = append(row, written(fmt.Sprintf("%.2f", b.GiB()), record.Memory, b))
		}
		t.add(row...)
	}
	if ranks {
		out.add(t)
	}
	out.evidence(&m.Evidence)
	if m.Reason != "" {
		out.say(m.Reason)
	}
	if at := MomentOfPeak(s, of); at != nil {
		out.say(at.Words())
	}
	if m.Host > 0 {
		out.say(hostWords(s, m))
	}
	if m.Reason != "" {
		out.fixes(s)
	}
	return out
}

// hostWords tells what is kept in host memory.
func hostWords(s *engine.Setup, m *engine.Memory) string {
	most := units.Bytes(0)
	for i := range m.Ranks {
		most = max(most, m.Ranks[i].Offloaded)
	}
	what := ""
	switch s.Offload {
	case recipe.OffloadOptimizer:
		what = "optimizer state"
	case recipe.OffloadWeights:
		what = "weights, gradients and optimizer state"
	case recipe.OffloadActivations:
		what = "what the backward reads"
	case recipe.OffloadEverything:
		what = "weights, gradients, optimizer state and what the backward reads"
	case recipe.OffloadOptimizerNVMe, recipe.OffloadWeightsNVMe:
		what = "gradients and buffers of what is on drives"
	case recipe.OffloadNone:
	}
	and := func(more string) {
		if what != "" {
			what += " and "
		}
		what += more
	}
	if s.OffloadLayers > 0 {
		and("activations of " + figure.Plural(s.OffloadLayers, "layer") + " of each rank")
	}
	if s.Optimizer.States().Paged {
		and("paged moments")
	}
	return fmt.Sprintf("host memory: %s for %s of a node, at most %s a GPU, without what pinning rounds up",
		figure.GiB(m.Host)+" GiB", what, figure.GiB(most)+" GiB")
}

// fixes lists the changes of one knob, with what they bring, that make a setup fit.
func (s *Section) fixes(of *engine.Setup) {
	fixes := advise.Fixes(*of, nil)
	if len(fixes) == 0 {
		s.say("No single-knob change makes it fit; meshscope advise tries combinations.")
		return
	}
	s.say("changes that make it fit, the fastest first by the slow end of its step; what adds TP, PP or CP " +
		"to sharded data parallelism, is tight or less certain comes last:")
	t := &Table{Head: []string{"", "", "", ""}}
	for i := range fixes {
		m := &fixes[i]
		also := m.Follows()
		if also != "" {
			also = "with " + also
		}
		tight := ""
		if m.Report.Memory.Fit == engine.Tight {
			tight = ", tight"
		}
		step := figure.FineSeconds(m.Report.Time.Step)
		if slow := figure.FineSeconds(m.PessimisticStep); m.PessimisticStep > m.Report.Time.Step &&
			slow != step {
			step += " to " + slow
		}
		t.add(Word(m.Turns()), written(fmt.Sprintf("%.1f GiB", m.Report.Memory.Peak.GiB())+tight,
			record.Memory, m.Report.Memory.Peak),
			written(step+" a step", record.Seconds, m.Report.Time.Step), Word(also))
	}
	s.add(t)
}

func pipelineSection(r *engine.Report) Section {
	p := r.Pipeline
	out := Section{
		Heading: "Pipeline",
		Lead: fmt.Sprintf("%s, %s, %s, %s", p.Schedule, figure.Plural(p.Ranks, "rank"),
			figure.Plural(p.Stages, "stage"), figure.Plural(p.MicroBatches, "micro-batch")),
	}
	facts := Facts{{"bubble", figure.FinePercent(BubbleOfStep(r)) + " " + OfStep}}
	if form := OverIdeal(p); form != "" {
		facts = append(facts, Fact{"", form + ", for equal stages without send/recv"})
	}
	if r.Time != nil {
		facts = append(facts, Fact{"ends", "after " + figure.Headline(p.Makespan) + " " + r.Time.Band("±")})
	}
	if p.Ranks > 1 {
		for i, line := range KindsOfRanks(r.Memory) {
			facts = append(facts, Fact{[]string{"layers", ""}[min(i, 1)], line})
		}
	}
	out.add(facts)
	if p.BubbleSpan != nil && r.Timeline != nil {
		out.say(fmt.Sprintf("Between a rank's own first start and last end the bubble is %s: ranks do not "+
			"wait for each other at the end of a step, so a step takes "+
			"the longest span of a rank, %s, and its start and end overlap with the steps before and after.",
			figure.FinePercent(*p.BubbleSpan), figure.Headline(units.Seconds(r.Timeline.LongestSpan()))))
	}
	return out
}

func communicationSection(r *engine.Report) Section {
	several := r.Pipeline != nil && r.Pipeline.Ranks > 1
	out := Section{Heading: "Communication", Lead: "per GPU and step"}
	if several {
		out.Lead += "; each row is one pipeline rank"
	}
	t := &Table{Head: []string{"", "operation", "rank", "group", "spans", "GB", "time", "exposed"}}
	for _, c := range r.Communication {
		t.add(Word(c.Dimension), Word(c.Operation), right(strconv.Itoa(c.Rank)),
			right(strconv.Itoa(c.GroupSize)), Word(c.Spans),
			written(fmt.Sprintf("%.3f", c.Bytes.GB()), record.Traffic, c.Bytes),
			fine(record.Seconds, c.Seconds), fine(record.Seconds, c.Exposed))
	}
	out.add(t)
	if several && r.Time != nil {
		text := "The bubble includes waiting for send/recv (pp). The exposed times of the other rows add " +
			"up to that of the step"
		if r.Time.Offload > 0 {
			text += ", those of host and drives to its offload"
		}
		out.say(text + ".")
	}
	return out
}

// StepPart is a part of the time of a step.
type StepPart struct {
	Name string
	Time units.Seconds
}

// StepParts returns the parts of the time of a step.
func StepParts(t *engine.Time) []StepPart {
	parts := []StepPart{
		{"compute", t.Compute},
		{"recompute", t.Recompute},
		{"bubble", t.Bubble},
		{"exposed communication", t.Exposed},
		{"optimizer", t.Optimizer},
	}
	if t.Offload > 0 {
		parts = append(parts, StepPart{"offload", t.Offload})
	}
	return parts
}

const stepHeading = "Step"

func stepSection(s *engine.Setup, r *engine.Report) Section {
	t := r.Time
	out := Section{Heading: stepHeading, Lead: figure.Headline(t.Step) + " " + t.Band("±")}
	out.evidence(&t.Evidence)
	if x := stepRange(s, r); x != nil {
		out.say(fmt.Sprintf("%s where no unproven overlap works: all-to-all of experts, ZeRO traffic of "+
			"every micro-batch (--comm-overlap pessimistic); search and advice rank by it",
			figure.FineSeconds(x.UnprovenOverlap)))
	}
	table := &Table{Head: []string{"part", "time", "share"}}
	for _, part := range StepParts(t) {
		share := Word("")
		if t.Step > 0 {
			share = fine(record.Share, part.Time/t.Step)
		}
		table.add(Word(part.Name), fine(record.Seconds, part.Time), share)
	}
	out.add(table)
	return out
}

func throughputSection(s *engine.Setup, p *engine.Throughput) Section {
	t := &Table{Head: []string{"", ""}}
	convention := ""
	if s.MFU != "" {
		convention = " (" + string(s.MFU) + ")"
	}
	t.add(Word("TFLOP/s per GPU"), fine(record.TFLOPS, p.ModelTFLOPSPerGPU))
	t.add(Word("MFU"+convention), fine(record.Share, p.MFU))
	t.add(Word("HFU"), fine(record.Share, p.HFU))
	return Section{
		Heading: "Throughput",
		Lead: fmt.Sprintf("%s tokens/s %s, %s per GPU", figure.FineCount(p.TokensPerSecond), p.Band("±"),
			figure.FineCount(p.TokensPerSecondPerGPU)),
		Blocks: []Block{t},
	}
}
