package ui

import (
	"slices"
	"strings"
	"testing"

	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/ui/screen"
)

// TestPanesByName: each place that an act or a demonstration can show is a screen that is there, and a
// name behind the slash is that of the pane that is drawn then.
func TestPanesByName(t *testing.T) {
	marks := map[string][]string{
		"memory/step": {"[over a step]", "OVER A STEP"}, "memory/layer": {"[inside a layer]", "LAYER"},
		"network/lanes": {"[lanes]"}, "network/ring": {"RING ATTENTION"},
		"network/collectives": {"[collectives]"},
		"evidence/curves":     {"CURVES"}, "search/sizes": {"MODEL SIZES"}, "search/measured": {"MEASURED"},
		"search/guide": {"1 FIT"}, "compare/alone": {"[each method alone]"},
		"compare/methods": {"[methods now]"},
	}
	demos, err := lessons.Demos(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	places := append(lessons.Places(), lessons.MorePlaces()...)
	for i := range demos {
		places = append(places, demos[i].Show)
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := live(t, size[0], size[1])
		for _, place := range places {
			m.goTo(place)
			name, pane, named := strings.Cut(place, "/")
			if !strings.EqualFold(m.screen().Name(), name) {
				t.Errorf("%s goes to %s", place, m.screen().Name())
			}
			if !named {
				continue
			}
			pane, _, _ = strings.Cut(pane, "/") // with a group of it behind another slash
			if p, ok := m.screen().(screen.Paned); !ok || p.Pane() != pane {
				t.Errorf("%s shows another pane", place)
			}
			if text := screenText(m); !slices.ContainsFunc(marks[name+"/"+pane],
				func(mark string) bool { return strings.Contains(text, mark) }) {
				t.Errorf("%s is not drawn:\n%s", place, text)
			}
		}
	}
}
