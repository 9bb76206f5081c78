package recipe

import (
	"fmt"
	"strconv"
	"strings"
)

// RecomputeMode is how much of the forward pass runs again in the backward.
type RecomputeMode string

// Modes of recomputation.
const (
	RecomputeNone      RecomputeMode = "none"
	RecomputeSelective RecomputeMode = "selective" // core attention only (Korthikanti et al.)
	RecomputeFull      RecomputeMode = "full"      // whole layers, their input kept
	RecomputeModules   RecomputeMode = "modules"   // the outputs of the named parts of every layer
)

// Modules is a set of parts of a layer, one bit each.
type Modules uint8

// Parts of a layer whose output can be recomputed.
const (
	// outputs of norms that are no part of a product: before MLA and before experts.
	ModuleNorm   Modules = 1 << iota
	ModuleMLAUp          // MLA: queries, keys and values from their latents
	ModuleAct            // the MLP's activation
	ModuleMoEAct         // the routed experts' activation
	ModuleShared         // the shared experts as a whole
	ModuleMLP            // a dense MLP as a whole, with its norm
	// everything behind the norm of a layer with experts: router, experts, shared ones.
	ModuleMoE
)

// moduleWords returns the words of the command line, in the order of the bits.
func moduleWords() [7]string {
	return [7]string{"norm", "mla-up", "act", "moe-act", "shared", "mlp", "moe"}
}

// ModuleWords lists the words of the command line.
func ModuleWords() []string {
	words := moduleWords()
	return words[:]
}

// AllModules is every part.
const AllModules = ModuleNorm | ModuleMLAUp | ModuleAct | ModuleMoEAct | ModuleShared | ModuleMLP | ModuleMoE

// Recompute is a mode and what it applies to: for full the number of layers of
// each pipeline rank (0 means all of them), for modules the parts.
type Recompute struct {
	Mode    RecomputeMode
	Layers  int
	Modules Modules
}

// ModuleSets lists the sets of parts that are worth trying on a stack for a model with routed
// experts: those without a product; with MLA its up-projections, without and with those. A
// dense model has none: its norms are part of products, and its activation cannot be named
// alone (--recompute-modules of NVIDIA/Megatron-LM, since Megatron-Core 0.12).
func (s Stack) ModuleSets(experts, mla bool) []Recompute {
	if s.Resolve() != MegatronCore || s.Release() != "" && s.Release() < release2504 || !experts {
		return nil
	}
	if !mla {
		return []Recompute{{Mode: RecomputeModules, Modules: ModuleNorm | ModuleMoEAct}}
	}
	return []Recompute{
		{Mode: RecomputeModules, Modules: ModuleMLAUp},
		{Mode: RecomputeModules, Modules: ModuleNorm | ModuleMoEAct | ModuleMLAUp},
	}
}

// Has reports whether a part of every layer runs again.
func (r Recompute) Has(m Modules) bool { return r.Mode == RecomputeModules && r.Modules&m != 0 }

// MaxRecomputeLayers bounds full:N; no published model is near it.
const MaxRecomputeLayers = 100_000

// String returns the word of the command line: none, selective, full, full:4,
// modules:norm,act.
func (r Recompute) String() string {
	switch {
	case r.Mode == RecomputeFull && r.Layers > 0:
		return fmt.Sprintf("full:%d", r.Layers)
	case r.Mode == RecomputeModules:
		var names []string
		for i, word := range moduleWords() {
			if r.Modules&(1<<i) != 0 {
				names = append(names, word)
			}
		}
		return "modules:" + strings.Join(names, ",")
	case r.Mode == "":
		return string(RecomputeNone)
	}
	return string(r.Mode)
}

// BriefRecompute returns the word of a narrow column: norm+act for modules:norm,act.
func BriefRecompute(word string) string {
	if list, modules := strings.CutPrefix(word, "modules:"); modules {
		return strings.ReplaceAll(list, ",", "+")
	}
	return word
}

// MarshalText writes the word of the command line.
func (r Recompute) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word of the command line.
func (r *Recompute) UnmarshalText(text []byte) error {
	word := string(text)
	mode, rest, more := strings.Cut(word, ":")
	switch {
	case !more && (mode == string(RecomputeNone) || mode == string(RecomputeSelective) ||
		mode == string(RecomputeFull)):
		*r = Recompute{Mode: RecomputeMode(mode)}
		return nil
	case more && mode == string(RecomputeFull):
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > MaxRecomputeLayers {
			return fmt.Errorf("recompute %q: the number of layers must be a whole number from 1 to %d", word,
				MaxRecomputeLayers)
		}
		*r = Recompute{Mode: RecomputeFull, Layers: n}
		return nil
	case more && mode == string(RecomputeModules):
		set, err := parseModules(rest)
		if err != nil {
			return fmt.Errorf("recompute %q: %w", word, err)
		}
		*r = Recompute{Mode: RecomputeModules, Modules: set}
		return nil
	}
	return fmt.Errorf("unknown recompute %q: allowed are none, selective, full, full:N, modules:LIST", word)
}

func parseModules(list string) (Modules, error) {
	var set Modules
	words := moduleWords()
	for name := range strings.SplitSeq(list, ",") {
		bit := Modules(0)
		for i, word := range words {
			if strings.TrimSpace(name) == word {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("%q is no part of a layer; allowed are %s", name,
				strings.Join(words[:], ", "))
		}
		set |= bit
	}
	return set, nil
}
