package report

import (
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestCardsOfEveryModel: the words of the glossary have cards on each model, hybrids that begin without
// attention among them; models whose heads are cut show them.
func TestCardsOfEveryModel(t *testing.T) {
	lib := presets.Default()
	cluster := presets.DefaultSetup().Cluster
	for _, listed := range lib.Models() {
		d := knob.DraftOf(listed.Model, cluster, knob.Given{
			knob.GPUs: 8, knob.TP: 1, knob.PP: 1, knob.CP: 1, knob.Seq: min(listed.MaxSeq, 1024),
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(listed.ID, err)
		}
		for _, name := range CardNames() {
			c, ok := NewCard(name, &s)
			if name == "splits" && (!ok || len(c.Rows) < 2) && !listed.IsMLA() {
				t.Errorf("%s: %d splits", listed.ID, len(c.Rows))
			}
		}
	}
}
