package lessons

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
)

// demosFile holds the demonstrations.
const demosFile = "demos.toml"

// Demo is a prepared setup with the screen that shows it.
type Demo struct {
	ID    string   `toml:"id" json:"id"`
	Title string   `toml:"title" json:"title"`
	Show  string   `toml:"show" json:"show"`
	Focus knob.ID  `toml:"focus" json:"focus"`
	Try   string   `toml:"try" json:"try"` // what to do there
	Given Settings `toml:"setup" json:"setup"`

	Setup engine.Setup `toml:"-" json:"-"`
}

// Demos returns the demonstrations, resolved with the presets of a library. Those of the
// built-in one are sound, which a test checks.
func Demos(lib *presets.Library) ([]Demo, error) {
	var file struct {
		Demos []Demo `toml:"demo"`
	}
	text, err := files.ReadFile(demosFile)
	if err != nil {
		return nil, err
	}
	unknown, err := input.DecodeTOML(demosFile, text, &file)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	for i := range file.Demos {
		d := &file.Demos[i]
		if err != nil {
			break
		}
		if d.Setup, _, err = resolve(d.Given, lib); err != nil {
			err = fmt.Errorf("%s: %s: %w", demosFile, d.ID, err)
		} else if _, ok := knob.Find(d.Focus); !ok || !slices.Contains(append(Places(), MorePlaces()...),
			d.Show) {
			err = fmt.Errorf("%s: %s: no knob %q or no screen %q", demosFile, d.ID, d.Focus, d.Show)
		}
	}
	return file.Demos, err
}

// MorePlaces lists what a demonstration can show in addition to what an act can.
func MorePlaces() []string {
	return []string{
		"search/sizes", "search/measured", "search/guide", "compare/alone", "compare/methods",
		"evidence",
	}
}

// FindDemo returns the demonstration of an id.
func FindDemo(id string, lib *presets.Library) (Demo, error) {
	all, err := Demos(lib)
	if err != nil {
		return Demo{}, err
	}
	var ids []string
	for _, d := range all {
		if d.ID == strings.ToLower(id) {
			return d, nil
		}
		ids = append(ids, d.ID)
	}
	return Demo{}, unknownID("demonstration", id, ids)
}
