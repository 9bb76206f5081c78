package knob

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// software returns the row of a field of recipe.Software.
func software(k Knob, field recipe.SoftwareField) Knob {
	of := func(s *Setup) *string { return field.Of(&s.Software) }
	k.ID, k.place = ID(field.Knob), 1
	k.unset = func(s *Setup) { *of(s) = recipe.Auto }
	k.fixes = becomes(func(t *Setup) { *of(t) = recipe.Auto })
	return choice(k, field.Words, of)
}

// softwareKnobs returns the knobs of what a software stack is told to run.
func softwareKnobs() []Knob {
	noExperts := func(s *Setup) (why, word string) {
		return offWhere(!s.Model.IsMoE(), "dense model", "dense")
	}
	fields := recipe.SoftwareFields()
	return []Knob{
		software(Knob{
			Label: "dispatcher", Short: "dispat", Off: noExperts,
			Help: "Sends routed tokens to their experts: deepep and hybridep send a token once to each " +
				"rank and domain, alltoall every copy (auto: as the stack's release does).",
			plain: func(s *Setup) { // the one that Draft gives models with experts
				if s.Dispatcher = recipe.DispatcherAuto; s.Model.IsMoE() &&
					s.Stack.Has(string(Dispatcher), string(recipe.AllToAll)) {
					s.Dispatcher = recipe.AllToAll
				}
			},
		}, fields[0]),
		software(Knob{
			Label: "EP overlap", Off: noExperts,
			Help: "Runs the expert all-to-all of one micro-batch next to the work of another: hides part " +
				"of it, with virtual stages or without a pipeline and without full recomputation.",
		}, fields[1]),
		software(Knob{
			Label: "TP overlap",
			Help: "Overlaps TP collectives with the products next to them: user-buffers in Transformer " +
				"Engine and async in torchtitan cut both into chunks, none leaves the forward's exposed.",
			Off: func(s *Setup) (why, word string) { return offWhere(s.TP <= 1, "TP 1", "") },
			Alike: func(s *Setup) string {
				if s.Overlap == recipe.OverlapNone {
					return "comm overlap none exposes all traffic"
				}
				return "auto exposes the share of TP traffic that runs show on average, none all of the " +
					"forward's; here that is as much"
			},
		}, fields[2]),
		software(Knob{
			Label: "CUDA graphs", Short: "graphs",
			Help: "Replays kernels from CUDA graphs: iteration, of the whole forward and backward, spares " +
				"every wait for the host; layer, of layers or modules, is modelled as none.",
		}, fields[3]),
		software(Knob{
			Label: "attention in", Short: "attn in",
			Help: "Number format of fused attention where products run in fp8 or nvfp4: fp8 is a faster " +
				"forward, at the cost of its digits (auto: as the stack's release does).",
			Off: func(s *Setup) (why, word string) {
				return offWhere(!s.Precision.Narrow(), "fp8 and nvfp4 only", "")
			},
		}, fields[4]),
		software(Knob{
			Label: "DP overlap",
			Help: "Overlaps the gradient reduction with the last backward and the weight gather with the " +
				"first forward: off leaves the traffic of ZeRO 0 to 2 exposed.",
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.DP*s.CP <= 1 || s.ZeRO == 3, "no such traffic", "")
			},
		}, fields[5]),
		software(Knob{
			Label: "comm overlap", Short: "overlap",
			Help: "How much overlap of communication with computing is taken to work: assumed as the " +
				"stack's calibration has it; pessimistic exposes the all-to-all of experts and the ZeRO " +
				"traffic of every micro-batch; none exposes all.",
		}, fields[6]),
		software(Knob{
			Label: "grouped MLP", Short: "grouped",
			Help: "Runs the experts of a rank as a loop of products, or fused in one kernel with their " +
				"activation and casts, which waits for no token counts: faster, on Blackwell in fp8 and " +
				"nvfp4.",
			Off: func(s *Setup) (why, word string) {
				if why, word = noExperts(s); why != "" {
					return why, word
				}
				return offWhere(!hardware.FusesExperts(&s.Cluster.GPU, s.Precision),
					"Blackwell in fp8 (MXFP8) or nvfp4 only", "")
			},
		}, fields[7]),
	}
}

// runs checks what the stack is told to run: words that it has.
func (s *Setup) runs(into []Problem) []Problem {
	if s.Software == (recipe.Software{}) || s.Software == autoSoftware() {
		return into
	}
	for _, f := range recipe.SoftwareFields() {
		word := *f.Of(&s.Software)
		if s.Stack.Has(f.Knob, word) {
			continue
		}
		p := Problem{Code: "stack-lacks", Severity: layout.Error, Field: f.Knob}
		if !slices.Contains(f.Words, word) {
			p.Code, p.Message = "unknown-word", fmt.Sprintf("unknown %s %q", f.Knob, word)
		} else {
			p.Message = fmt.Sprintf("%s has no %s %s; it has %s", s.StackName(), f.Knob, word,
				strings.Join(s.Stack.Words(f.Knob), ", "))
		}
		into = append(into, p)
	}
	return into
}

// StackName returns the stack with its release.
func (s *Setup) StackName() string {
	name := string(s.Stack.Resolve())
	if release := s.Stack.Release(); release != "" {
		name += "@" + release
	}
	return name
}

// autoSoftware is what a setup has where nothing is given.
func autoSoftware() recipe.Software {
	return recipe.Software{
		Dispatcher: recipe.Auto, EPOverlap: recipe.Auto, TPOverlap: recipe.Auto, CUDAGraphs: recipe.Auto,
		Attending: recipe.Auto, DPOverlap: recipe.Auto, Overlap: recipe.Auto, GroupedMLP: recipe.Auto,
	}
}
