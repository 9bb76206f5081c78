//go:build !rehearse

package ui

import tea "charm.land/bubbletea/v2"

// rehearsal does nothing: only a build with the tag rehearse panics on purpose.
type rehearsal struct{}

func newRehearsal([]string) rehearsal { return rehearsal{} }

func (rehearsal) update(tea.Msg) tea.Cmd { return nil }

func (rehearsal) view() {}
