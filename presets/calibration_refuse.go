package presets

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/recipe"
	"meshscope/presets/input"
)

// refuseCalibrations finds the user's calibrations that would be silently
// without effect: that speak of nothing known, inherit from nothing, or speak of
// what another file speaks of.
func (l *Library) refuseCalibrations() []error {
	l.refused = map[string]bool{}
	var errs []error
	refuse := func(f *CalibrationPreset, key, format string, args ...any) {
		l.refused[f.ID] = true
		errs = append(errs, &input.Error{
			File: "calibrations/" + f.ID + extension, Key: key,
			Err: fmt.Errorf(format, args...),
		})
	}
	var own []CalibrationPreset
	for _, f := range l.calibrations.list(l) {
		if own = append(own, f.parts...); len(f.parts) == 0 {
			own = append(own, f)
		}
	}
	spoken := map[[2]string]string{} // file by kind and by the machine or stack it names
	for i := range own {
		f := &own[i]
		if len(f.AppliesTo) == 0 {
			refuse(f, "applies_to", "missing; allowed is a list of %s", f.appliesToWhat())
		}
		for _, id := range f.AppliesTo {
			if err := l.speaksOf(f.Kind, id); err != nil {
				refuse(f, "applies_to", "%v", err)
				continue
			}
			if first := spoken[[2]string{f.Kind, id}]; first != "" {
				refuse(f, "applies_to", "%q is already covered by %s; one file of each kind may apply to it",
					id, first)
				continue
			}
			spoken[[2]string{f.Kind, id}] = "calibrations/" + f.ID + extension
		}
		for _, m := range f.Machines {
			for _, id := range m.AppliesTo {
				if err := l.speaksOf(kindGPU, id); err != nil {
					refuse(f, "machine.applies_to", "%v", err)
				}
			}
		}
	}
	// A file that inherits from a refused one is refused, too, in any order they
	// come.
	for again := true; again; {
		again = false
		for i := range own {
			if f := &own[i]; !l.refused[f.ID] {
				if reason := l.badChain(f); reason != "" {
					refuse(f, "inherits", "%s", reason)
					again = true
				}
			}
		}
	}
	return errs
}

func (p *CalibrationPreset) appliesToWhat() string {
	if p.Kind == kindStack || p.Kind == kindMemory {
		return "stacks"
	}
	return "ids of clusters and GPUs"
}

// speaksOf reports an id that no calibration of this kind can apply to.
func (l *Library) speaksOf(kind, id string) error {
	if kind == kindStack || kind == kindMemory {
		var known []string
		for _, s := range recipe.Stacks() {
			if s != recipe.DefaultStack && !s.Traits().Formulas {
				known = append(known, string(s))
			}
		}
		if !slices.Contains(known, id) {
			return fmt.Errorf("%w allowed are %s", unknown("stack", id, slices.Clone(known)),
				strings.Join(known, ", "))
		}
		return nil
	}
	if id == "*" {
		return nil
	}
	id = strings.TrimPrefix(id, nodePrefix)
	if _, err := find(l, id, func(l *Library) *store[ClusterPreset] { return &l.clusters }); err == nil {
		return nil
	}
	if _, err := l.GPU(id); err != nil {
		return fmt.Errorf("neither a cluster nor a GPU: %w", err)
	}
	return nil
}

// badChain reports an invalid chain of inheritance; empty where it is valid.
func (l *Library) badChain(f *CalibrationPreset) string {
	files := l.calibrationFiles()
	seen := []string{f.ID}
	for at := f; at.Inherits != ""; {
		if slices.Contains(seen, at.Inherits) {
			return "a cycle: " + strings.Join(append(seen, at.Inherits), " -> ")
		}
		i := slices.IndexFunc(files, func(p CalibrationPreset) bool {
			return p.ID == at.Inherits && p.Kind == at.Kind
		})
		if i < 0 {
			i = slices.IndexFunc(files, func(p CalibrationPreset) bool { return p.ID == at.Inherits })
		}
		switch {
		case i < 0 && l.refused[at.Inherits]:
			return at.Inherits + " is refused itself"
		case i < 0:
			var known []string
			for j := range files {
				if files[j].Kind == f.Kind && files[j].ID != f.ID {
					known = append(known, files[j].ID)
				}
			}
			return unknown("calibration", at.Inherits, known).Error()
		case files[i].Kind != f.Kind:
			return fmt.Sprintf("%s is of the kind %s, this file of %s", at.Inherits, files[i].Kind, f.Kind)
		}
		if seen = append(seen, at.Inherits); len(seen) > maxInherits {
			return fmt.Sprintf("a chain of more than %d files", maxInherits)
		}
		at = &files[i]
	}
	return ""
}
