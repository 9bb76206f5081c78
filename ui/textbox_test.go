package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/ui/overlay"
)

// TestAnyKeysInTextFields throws keys of every kind at every place that takes text:
// none may do harm, and what is drawn stays on the screen. Delete a word where the
// caret is before the last sign is among them.
func TestAnyKeysInTextFields(t *testing.T) {
	books := overlay.ReadCatalog(sample(t, 80, 24).options.Library)
	places := [][]string{{"?"}, {":"}, {"m"}, {"g"}, {"w"}, {"x"}, {"r"}, {"3"}, {"s", "/"}}
	draws.CheckFew(t, 50, func(rt *rapid.T) {
		m := sample(t, 80, 24)
		m.catalog = books
		for _, key := range rapid.SampledFrom(places).Draw(rt, "place") {
			keys(m, key)
		}
		send(m, tea.PasteMsg{Content: rapid.StringN(0, 6, -1).Draw(rt, "pasted")})
		for range rapid.IntRange(0, 25).Draw(rt, "keys") {
			msg := tea.KeyPressMsg{Code: rapid.SampledFrom([]rune{
				tea.KeyLeft, tea.KeyLeft, tea.KeyRight, tea.KeyHome, tea.KeyEnd, tea.KeyDelete,
				tea.KeyBackspace, tea.KeyTab,
				'a', 'b', 'd', 'd', 'e', 'f', 'h', 'k', 'n', 'p', 't', 'u', 'v', 'w', '1', ' ', 'é', '日',
			}).Draw(rt, "code")}
			msg.Mod = rapid.SampledFrom([]tea.KeyMod{0, 0, tea.ModAlt, tea.ModCtrl, tea.ModShift}).Draw(rt,
				"mod")
			if msg.Mod == 0 && msg.Code < tea.KeyExtended && msg.Code >= ' ' && msg.Code != tea.KeyBackspace {
				msg.Text = string(msg.Code)
			}
			send(m, msg)
		}
		checkFrame(t, m)
	})
}
