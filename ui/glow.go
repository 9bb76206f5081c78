package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/ui/tty"
)

// glowTime is how long what changed stands out.
const glowTime = 700 * time.Millisecond

// glowedMsg ends that of a change, unless another one has come.
type glowedMsg struct{ serial int }

// light lets the knobs that differ from an earlier setup, and the figures that changed, stand out for
// a moment: not where calm is asked for, without colours, or over SSH, where each frame costs time.
func (m *Model) light(was *engine.Setup) tea.Cmd {
	m.glow = nil
	env := m.options.Env
	if m.options.Calm || !m.look.theme.Colours || tty.Getenv(env, "SSH_TTY") != "" || tty.Getenv(env, "SSH_CONNECTION") != "" {
		return nil
	}
	m.glow = map[knob.ID]bool{}
	for i := range m.rows {
		if k, ok := knob.Find(m.rows[i].ID); ok && k.Text(*was) != k.Text(m.state.Setup) {
			m.glow[k.ID] = true
		}
	}
	m.glowed++
	serial := m.glowed
	return tea.Tick(glowTime, func(time.Time) tea.Msg { return glowedMsg{serial} })
}

// glowing is 1 while something stands out, for caches.
func (m *Model) glowing() int {
	if m.glow != nil {
		return 1
	}
	return 0
}
