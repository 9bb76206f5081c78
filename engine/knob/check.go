package knob

import (
	"fmt"
	"slices"

	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Check says what is wrong with a setup: errors for what cannot be executed at
// all, warnings for the rest. Every error carries values that make the setup
// legal, where any exist.
func Check(s *Setup) []Problem { return CheckOf(s, false) }

// CheckOf is Check for a caller that may know that the model is sound.
func CheckOf(s *Setup, sound bool) []Problem {
	problems := s.violations([]Problem{}, sound, false) // never nil: JSON wants a list
	fix := fixer{s: s, wrong: fieldsInError(problems)}
	for i := range problems {
		p := &problems[i]
		switch {
		case p.Severity == layout.Error:
			p.Nearest = fix.nearest(p)
		case p.Nearest != nil:
			p.Nearest = better(s, p)
		}
	}
	// First those that their own field can fix: the others follow from them.
	slices.SortStableFunc(problems, func(a, b Problem) int { return mended(&a) - mended(&b) })
	return problems
}

// fieldsInError returns the fields of all errors, each once.
func fieldsInError(problems []Problem) []string {
	var fields []string
	for i := range problems {
		if p := &problems[i]; p.Severity == layout.Error && !slices.Contains(fields, p.Field) {
			fields = append(fields, p.Field)
		}
	}
	return fields
}

// mended is 0 for an error whose own field has a legal value, 1 for other
// errors, 2 for warnings.
func mended(p *Problem) int {
	if p.Severity != layout.Error {
		return 2
	}
	if _, own := p.Nearest[p.Field]; own {
		return 0
	}
	return 1
}

// Legal reports whether a setup has no errors. It is much cheaper than Check on an
// illegal one, because nearest values are not looked for.
func Legal(s *Setup) bool { return legal(s) }

func legal(s *Setup) bool { return !layout.HasErrors(codes(s)) }

// LauncherRejects reports whether a legal setup is one that some launcher rejects, going by
// its warnings: ZeRO-2 and 3 together with a pipeline, experts with TP but
// without SP, too few micro-batches or one chunk for an interleaved schedule, a
// context-parallel slice that does not balance.
func LauncherRejects(problems []Problem) bool {
	for i := range problems {
		if rejects(problems[i].Code) {
			return true
		}
	}
	return false
}

// LauncherRejection returns what the first of the problems that LauncherRejects counts says; empty where
// there is none.
func LauncherRejection(problems []Problem) string {
	for i := range problems {
		if rejects(problems[i].Code) {
			return problems[i].Message
		}
	}
	return ""
}

func rejects(code string) bool {
	switch code {
	case "zero-with-pp", "zero-not-offered", "moe-tp-without-sp", "fewer-microbatches-than-ranks",
		"interleaved-one-chunk", "interleaved-one-rank", "group-remainder", "cp-zigzag", "sp-not-offered",
		"degree-not-offered":
		return true
	}
	return false
}

// ZeROStages says which ZeRO stages the setup's software stack has.
func ZeROStages(s *Setup) [4]bool {
	stack, ok := memory.For(s.Stack)
	if !ok {
		return [4]bool{}
	}
	return stack.Offers()
}

// codes is violations without the messages that cost most, for those who only count.
func codes(s *Setup) []Problem { return s.violations(nil, false, true) }

// violations applies every rule, without nearest values; a sound model need not be checked.
func (s *Setup) violations(into []Problem, sound, mute bool) []Problem {
	if !sound {
		if err := s.Model.Check(); err != nil {
			return append(into, Problem{
				Code: "model", Severity: layout.Error, Field: "model",
				Message: err.Error(),
			})
		}
	}
	if err := s.Cluster.Check(); err != nil {
		return append(into, Problem{
			Code: "cluster", Severity: layout.Error, Field: "cluster",
			Message: err.Error(),
		})
	}
	before := len(into)
	into = s.words(into)
	rules := s.Rules
	if mute {
		rules = s.RuleCodes
	}
	into = rules(&s.Model, &s.Cluster, into)
	if layout.HasCode(into[before:], "out-of-range") {
		return into // the schedule's rules take counts for granted
	}
	for _, issue := range s.Spec().Check() {
		into = append(into, fromSchedule(issue))
	}
	return s.stackWarnings(into, mute)
}

// vastBatch is beyond every published batch, in tokens: the largest are some tens
// of millions. Who reaches it has mostly typed tokens where sequences are asked.
const vastBatch = 1e9

// stackWarnings say where the setup asks for more than its stack has, or than makes
// sense; mute: codes alone, no messages.
func (s *Setup) stackWarnings(into []Problem, mute bool) []Problem {
	add := func(severity layout.Severity, code string, field ID, format string, args ...any) {
		p := Problem{Code: code, Severity: severity, Field: string(field)}
		if !mute {
			p.Message = fmt.Sprintf(format, args...)
		}
		into = append(into, p)
	}
	warnf := func(code string, field ID, format string, args ...any) {
		add(layout.Warning, code, field, format, args...)
	}
	stack, ok := memory.For(s.Stack)
	if !ok || s.ZeRO < 0 || s.ZeRO > 3 {
		return into
	}
	if s.SharesHeads() {
		s.sharedHeads(func(code string, field ID, format string, args ...any) {
			add(layout.Error, code, field, format, args...)
		})
	}
	name, traits := s.Stack.Resolve(), s.Stack.Traits()
	ledger := traits.Ledger // refuses what it does not have
	if !stack.Offers()[s.ZeRO] && !ledger {
		warnf("zero-not-offered", ZeRO, "%s does not offer ZeRO-%d: memory is sharded as in the textbook",
			name, s.ZeRO)
	}
	if as := traits.SPAs; s.SP && s.TP > 1 && as != "" {
		warnf("sp-not-offered", SP, "%s predates sequence parallelism: memory is modelled as in %s", name, as)
	}
	if ledger {
		into = s.ledger(into, stack, mute)
	} else {
		into = s.training(into)
	}
	if !ledger && traits.DataParallelOnly {
		for _, d := range [...]struct {
			id    ID
			given int
		}{{TP, s.TP}, {PP, s.PP}, {CP, s.CP}, {EP, s.EP}} {
			if d.given > 1 {
				warnf("degree-not-offered", d.id, "%s has data parallelism alone, no %s of %d: memory and "+
					"time of that are modelled as in other stacks", name, d.id, d.given)
			}
		}
	}
	if tokens := s.Tokens(); tokens > vastBatch {
		warnf(vastCode, GBS, "the global batch is %d sequences, %s tokens per step, more than any published "+
			"run", s.GBS, TokenWords(tokens))
	}
	if width, by := s.UnevenScan(); width > 0 {
		warnf("narrow-scan", TP, "%s: the input projection of linear attention is %d wide on a rank of tp "+
			"%d, and Transformer Engine multiplies multiples of %d in it", s.Precision, width, s.TP, by)
	}
	if s.Replicas() > 1 && s.ZeRO == 0 && !ledger {
		warnf("hsdp-without-zero", HSDP, "hsdp has no effect with ZeRO-0: every replica is already whole")
	}
	if node := s.Cluster.Node(); s.HPZ > 1 && s.HPZ < s.DP && s.GPUs > node && node%s.HPZ != 0 && ledger {
		warnf("hpz-nodes", HPZ, "hpz %d does not divide the %d GPUs of a node: gathers from second copies "+
			"cross nodes", s.HPZ, node)
	}
	if s.HPZ > 1 && s.HPZ >= s.DP && ledger {
		warnf("hpz-whole", HPZ, "hpz %d holds all of dp %d: the second copy takes memory and saves no "+
			"traffic", s.HPZ, s.DP)
	}
	return into
}

// UnevenScan returns the width on a TP rank of the input projection of layers with a state where Transformer
// Engine cannot multiply it in fewer than 16 bits, and the multiple that it needs: 16 in the backward
// (common/gemm/cublaslt_gemm.cu), 32 of MXFP8 (Megatron-LM, get_fp8_align_size); 0: it can.
func (s *Setup) UnevenScan() (width, by int) {
	p := s.Precision.On(s.Stack)
	if s.Stack.Resolve().Family() != "megatron" || !p.Narrow() || p == recipe.FP8DeepSeek ||
		!s.Model.Scans() || s.TP < 1 {
		return 0, 0
	}
	if by = 16; p == recipe.FP8Megatron && s.Cluster.GPU.Architecture == "Blackwell" {
		by = 32
	}
	return s.Model.UnevenScan(s.TP, by), by
}

const vastCode = "vast-batch"

// GivenBatch returns problems of a setup whose global batch was given: a vast one may be meant in tokens.
func GivenBatch(problems []Problem, s *Setup) []Problem {
	i := slices.IndexFunc(problems, func(p Problem) bool { return p.Code == vastCode })
	if i < 0 {
		return problems
	}
	problems = slices.Clone(problems)
	problems[i].Message += fmt.Sprintf(": it counts sequences, not tokens; %d tokens are %d sequences", s.GBS,
		max(1, s.GBS/max(s.Seq, 1)))
	return problems
}

// TokenWords returns a number of tokens in millions, from a thousand of them on in billions, then in
// trillions.
func TokenWords(tokens float64) string {
	switch { // three figures of 999.5 would be 1e+03
	case tokens >= 999.5e9:
		return fmt.Sprintf("%.3g trillion", tokens/1e12)
	case tokens >= 999.5e6:
		return fmt.Sprintf("%.3g billion", tokens/1e9)
	}
	return fmt.Sprintf("%.3g M", tokens/1e6)
}

func fromSchedule(i schedule.Issue) Problem {
	p := Problem{Code: i.Code, Severity: layout.Error, Field: i.Field, Message: i.Message}
	if i.Warning {
		p.Severity = layout.Warning
	}
	if len(i.Nearest) > 0 {
		p.Nearest = make(map[string]any, len(i.Nearest))
		for field, value := range i.Nearest {
			p.Nearest[field] = value
		}
	}
	return p
}

// machine says which figure of the hardware or its calibration is missing for
// what is asked. The result is then unknown: a missing rate must not be taken for
// one that costs nothing.
func (s *Setup) machine(bad func(code string, field ID, format string, args ...any)) {
	g := &s.Cluster.GPU
	switch {
	case g.Peak(s.Precision) <= 0:
		bad("precision-gpu", Precision, "%s has no published %s rate", g.Name, s.Precision)
	case s.Precision == recipe.NVFP4 && g.Vendor != "NVIDIA" && g.Vendor != "":
		bad("precision-gpu", Precision, "%s has no %s: it is a format of NVIDIA's", g.Name, s.Precision)
	case s.Precision.Narrow() && g.Peak(recipe.BF16) <= 0:
		bad("precision-gpu", Precision,
			"%s has no published bf16 rate, which attention needs with %s products", g.Name, s.Precision)
	}
	if s.Offload.Optimizer() && g.Host() <= 0 {
		bad("offload-bandwidth", Offload, "cluster.gpu.host_bandwidth is missing: no published bandwidth "+
			"between %s and its host, so the time of offloading is unknown", g.Name)
	}
	if read, write := s.Cluster.Drives(); s.Offload.NVMe() && (read <= 0 || write <= 0) {
		bad("offload-bandwidth", Offload, "cluster.drive_read_bandwidth or cluster.drive_write_bandwidth is "+
			"missing: no published rate of drives, so the time of offloading to them is unknown")
	}
	if s.OffloadLayers > 0 {
		s.offloadLayers(bad)
	}
	if lacks := s.Cluster.MemoryOf(s.Stack).Missing; lacks != "" {
		bad("calibration-missing", Calibration, "%s: the memory is unknown without it", lacks)
	}
	if cal := s.Cluster.Calibration; cal != nil && !s.Stack.Traits().Formulas {
		if lacks := cal.Lacks(s.Stack); lacks != "" {
			bad("calibration-missing", Calibration, "%s: the step time is unknown without it", lacks)
		}
	}
}

// offloadLayers checks activations in host memory: Megatron-Core keeps them there, of layers
// that do not run again as a whole.
func (s *Setup) offloadLayers(bad func(code string, field ID, format string, args ...any)) {
	const field = "offload-layers"
	switch {
	case s.Stack.Resolve() != recipe.MegatronCore:
		bad("stack-lacks", field, "%s has no activations of some layers in host memory here; "+
			"megatron-core has", s.StackName())
	case s.Recompute.Mode == recipe.RecomputeFull:
		bad("offload-recompute", field,
			"megatron-core offloads no activations where layers run again: recompute %s", s.Recompute)
	case s.Cluster.GPU.Host() <= 0:
		bad("offload-bandwidth", field, "cluster.gpu.host_bandwidth is missing: no published bandwidth "+
			"between %s and its host, so the time of offloading is unknown", s.Cluster.GPU.Name)
	case s.OffloadLayers < 0 || s.OffloadLayers > recipe.MaxRecomputeLayers:
		bad("out-of-range", field, "offload-layers is %d; allowed are 0 to %d", s.OffloadLayers,
			recipe.MaxRecomputeLayers)
	}
}

// words checks the fields that are words rather than counts.
func (s *Setup) words(into []Problem) []Problem {
	bad := func(code string, field ID, format string, args ...any) {
		into = append(into, Problem{
			Code: code, Severity: layout.Error, Field: string(field),
			Message: fmt.Sprintf(format, args...),
		})
	}
	word := func(known bool, field ID, given string) {
		if !known {
			bad("unknown-word", field, "unknown %s %q: allowed is %s", field, given, find(field).Allowed())
		}
	}
	_, built := memory.For(s.Stack)
	word(built, Calibration, string(s.Stack))
	word(slices.Contains(recipe.Precisions(), s.Precision), Precision, string(s.Precision))
	word(slices.Contains(recipe.GradDtypes(), s.GradDtype), GradDtype, string(s.GradDtype))
	word(slices.Contains(recipe.Attentions(), s.Attention), Attention, string(s.Attention))
	word(s.Optimizer.Known(), Optimizer, string(s.Optimizer))
	word(slices.Contains(recipe.MFUConventions(), s.MFU), MFU, string(s.MFU))
	word(s.Loss == "" || slices.Contains(recipe.Losses(), s.Loss), Loss, string(s.Loss))
	word(s.Offload == "" || slices.Contains(recipe.Offloads(), s.Offload), Offload, string(s.Offload))
	if s.Imbalance != 0 && (s.Imbalance < recipe.EvenLoad || s.Imbalance > recipe.MaxLoad) {
		bad("out-of-range", Imbalance, "imbalance is %d; allowed are %d to %d percent", s.Imbalance,
			recipe.EvenLoad, recipe.MaxLoad)
	}
	s.machine(bad)
	s.exchange(bad)
	if runs, has := s.Stack.Runs(s.Precision); built && !runs {
		bad("stack-lacks", Precision, "%s has no %s; %s has it", s.StackName(), s.Precision, has)
	}
	into = s.runs(into)
	into = recomputeErrors(into, s.Recompute)
	if n := s.Recompute.Layers; s.PP > 0 && n > (s.Model.Layers+s.PP-1)/s.PP &&
		s.Recompute.Mode == recipe.RecomputeFull {
		into = append(into, Problem{
			Code: "recompute-all", Severity: layout.Warning, Field: string(Recompute),
			Message: fmt.Sprintf("recompute %s names more layers than a pipeline rank holds: all are "+
				"recomputed", s.Recompute),
		})
	}
	if n := s.OffloadLayers; s.PP > 0 && n > (s.Model.Layers+s.PP-1)/s.PP {
		into = append(into, Problem{
			Code: "offload-all", Severity: layout.Warning, Field: "offload-layers",
			Message: fmt.Sprintf("offload-layers is %d, more than a pipeline rank holds: all are offloaded",
				n),
		})
	}
	for _, k := range figures() {
		if v := *k.figure(s); !k.allows(v) {
			bad("run-plan", k.ID, "%s is %v; allowed is %s", k.ID, v, k.Allowed())
		}
	}
	if s.TrainMTP && s.Model.MTPLayers == 0 {
		bad("mtp", MTP, "the model has no multi-token-prediction module to train")
	}
	return into
}

// recomputeErrors checks what is to run again.
func recomputeErrors(into []Problem, r recipe.Recompute) []Problem {
	bad := func(format string, args ...any) {
		into = append(into, Problem{
			Code: "recompute", Severity: layout.Error, Field: string(Recompute),
			Message: fmt.Sprintf(format, args...),
		})
	}
	if n := r.Layers; n < 0 || n > recipe.MaxRecomputeLayers {
		bad("recompute %s: layers must be 0 to %d", r, recipe.MaxRecomputeLayers)
	}
	switch r.Mode {
	case recipe.RecomputeNone, recipe.RecomputeSelective, recipe.RecomputeFull:
	case recipe.RecomputeModules:
		if m := r.Modules; m == 0 || m > recipe.AllModules {
			bad("recompute by modules names no part of a layer, or one that does not exist")
		}
	default:
		bad("unknown recompute %q", r.Mode)
	}
	return into
}
