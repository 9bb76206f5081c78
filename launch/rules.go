package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// refuses returns a rule with the reason for its refusal.
func refuses(id string, field knob.ID, source, because string, breaks func(*engine.Setup) bool) Rule {
	return refusesWith(id, field, source, breaks, func(*engine.Setup) string { return because })
}

// refusesWith returns a rule whose reason has figures of the setup.
func refusesWith(id string, field knob.ID, source string, breaks func(*engine.Setup) bool,
	why func(*engine.Setup) string,
) Rule {
	return Rule{ID: id, Field: field, Source: source, Why: why, breaks: breaks}
}

// outsideSearch marks rules that no layout of a search is refused for.
func outsideSearch(rules ...Rule) []Rule {
	for i := range rules {
		rules[i].outside = true
	}
	return rules
}

// oneOf returns the rule that a knob has one of some words.
func oneOf[T ~string](id knob.ID, source, because string, of func(*engine.Setup) T, allowed ...T) Rule {
	return refusesWith(string(id), id, source,
		func(s *engine.Setup) bool { return !slices.Contains(allowed, of(s)) },
		func(s *engine.Setup) string {
			return fmt.Sprintf("%s %s: %s (accepted: %s)", id, of(s), because, listed(allowed, ", "))
		})
}

// listed returns words as one text.
func listed[T ~string](words []T, between string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, between)
}

// softwareRules returns the rules that a launcher is not told to run other software than its
// own: each field is auto, or one of the words of what PyTorch or the launcher itself does.
func softwareRules(source string, own map[string][]string) []Rule {
	words := map[string][]string{
		"ep-overlap": {"off"}, "tp-overlap": {"none"}, "cuda-graph": {"none"},
		"attention-precision": {"bf16"}, "dp-overlap": {"on"},
	}
	maps.Copy(words, own)
	var out []Rule
	for _, f := range recipe.SoftwareFields() {
		if f.Knob == "comm-overlap" { // what is taken to overlap, not what runs
			continue
		}
		allowed := append([]string{"", recipe.Auto}, words[f.Knob]...)
		out = append(out, refusesWith(f.Knob, knob.ID(f.Knob), source,
			func(s *engine.Setup) bool {
				return s.Software != (recipe.Software{}) && !slices.Contains(allowed, *f.Of(&s.Software))
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("its file cannot ask for %s %s (accepted: %s)", f.Knob, *f.Of(&s.Software),
					strings.Join(allowed[1:], ", "))
			}))
	}
	return outsideSearch(out...)
}

// softwareKnobs lists the knobs of software that runs.
func softwareKnobs() []knob.ID {
	var ids []knob.ID
	for _, f := range recipe.SoftwareFields() {
		if f.Knob != "comm-overlap" && f.Knob != "dp-overlap" {
			ids = append(ids, knob.ID(f.Knob))
		}
	}
	return ids
}

// wholeLayers returns the rule of launchers whose recomputation is of whole layers.
func wholeLayers(source string, modes ...recipe.RecomputeMode) Rule {
	return refusesWith("recompute", knob.Recompute, source,
		func(s *engine.Setup) bool {
			return s.Recompute.Layers > 0 || !slices.Contains(modes, s.Recompute.Mode)
		},
		func(s *engine.Setup) string {
			return fmt.Sprintf("its file has %s for all layers alike, not %s", listed(modes, " or "),
				s.Recompute)
		})
}

// noHostMemory are the rules of launchers that do not keep optimizer or activations on the host.
func noHostMemory(source, because string) []Rule {
	return []Rule{
		refuses("offload", knob.Offload, source, because,
			func(s *engine.Setup) bool { return s.Offload.Optimizer() && !s.Offload.Weights() }),
		refuses("offload-weights", knob.Offload, source, "weights on the host are not written into its file",
			func(s *engine.Setup) bool { return s.Offload.Weights() }),
		noDrives(source),
		refuses("offload-activations", knob.Offload, source,
			"activations on the host are not written into its file",
			func(s *engine.Setup) bool { return s.Offload.Activations() }),
		refuses("offload-layers", "offload-layers", source,
			"it keeps no activations of layers in host memory",
			func(s *engine.Setup) bool { return s.OffloadLayers > 0 }),
	}
}

// noDrives is the rule of launchers that keep nothing on drives.
func noDrives(source string) Rule {
	return refuses("offload-nvme", knob.Offload, source,
		"files of DeepSpeed, and of accelerate with DeepSpeed, alone have NVMe",
		func(s *engine.Setup) bool { return s.Offload.NVMe() })
}

// noAdapters are the rules of launchers whose file starts the training of every weight.
func noAdapters(source string) []Rule {
	const because = "its file starts the training of every weight, without adapters"
	return outsideSearch(
		refuses("lora", knob.LoRA, source, because, func(s *engine.Setup) bool { return s.Frozen() }),
		refuses("base-dtype", "base-dtype", source, because,
			func(s *engine.Setup) bool { return s.BaseDtype != "" }),
		refuses("lora-targets", "lora-targets", source, because,
			func(s *engine.Setup) bool { return s.Targets != "" }),
	)
}

// ringID is the rule of launchers whose context parallelism is a ring.
const ringID = "exchange"

// onlyRing returns the rule of a launcher that exchanges no heads.
func onlyRing(source, because string) Rule {
	return refuses(ringID, knob.CPComm, source, because+", which exchanges no heads: cp-comm p2p, or cp 1",
		(*engine.Setup).SharesHeads)
}

// noPipeline are the rules of launchers without pipeline parallelism.
func noPipeline(source, because string) []Rule {
	return []Rule{
		refuses("pipeline", knob.PP, source, because, func(s *engine.Setup) bool { return s.PP > 1 }),
		refuses("virtual-stages", knob.VPP, source, "without a pipeline there are no virtual stages",
			func(s *engine.Setup) bool { return s.VPP > 1 && s.PP == 1 }),
		refuses("order", knob.Schedule, source,
			"without a pipeline each micro-batch goes forward and backward before the next: 1f1b",
			func(s *engine.Setup) bool { return s.PP == 1 && s.Schedule != "1f1b" }),
	}
}
