package ui

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/record"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/report"
)

// TestQuestionLetsNothingOut: whatever key is pressed while a question is open, and on the glossary
// over it, nothing goes to the clipboard, to a file or to the terminal in addition to the frame. One kind of
// question, each in a deep run.
func TestQuestionLetsNothingOut(t *testing.T) {
	all, errs := lessons.All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	out := ""
	let := func(what string) func(o *Options) {
		return func(o *Options) {
			o.Share = func(text string) (string, error) { out = what + " copies " + text; return "", nil }
			o.Export = func(report.Format, *report.Evaluation) (string, error) {
				out = what + " exports"
				return "", nil
			}
			o.Save = func(name, _ string, _ func(io.Writer) error) (string, error) {
				out = what + " saves " + name
				return "", nil
			}
		}
	}
	tried := map[lessons.Kind]bool{}
	for _, l := range all {
		for at := range l.Acts {
			if kind := l.Acts[at].Kind; tried[kind] || !draws.Deep() && len(tried) > 0 {
				continue
			}
			tried[l.Acts[at].Kind] = true
			m := taughtAt(t, l, at, 80, 24, let(l.ID))
			heard := func(msg tea.Msg) {
				if _, raw := msg.(tea.RawMsg); raw {
					out = "something is written"
				}
			}
			for _, over := range [][]string{nil, {"w"}, {"w", "down", "enter"}} {
				for key := range allKeys() {
					if !draws.Deep() && (over != nil || !strings.Contains("yxRXY:s", key)) {
						continue
					}
					if slices.Contains(answers(l.Acts[at].Kind), key) && over == nil {
						continue
					}
					if !m.onStageAt(at) {
						m = taughtAt(t, l, at, 80, 24, let(l.ID))
					}
					for _, first := range over {
						overheard(m, heard, first)
					}
					if overheard(m, heard, key); out != "" {
						t.Fatalf("%s, act %d, %v %s: %s", l.ID, at+1, over, key, out)
					}
					for m.overlays.Len() > 1 {
						before := m.overlays.Len()
						if overheard(m, heard, "esc"); m.overlays.Len() == before {
							break
						}
					}
				}
			}
		}
	}
}

// onStageAt reports whether the question of an act holds the keys.
func (m *Model) onStageAt(at int) bool {
	return m.staged() != nil && m.lesson.Play.At == at && m.lesson.Play.Phase == lessons.Predict
}

// answers lists the keys that answer, give up or leave a question, which is no longer open then.
func answers(kind lessons.Kind) []string {
	keys := []string{"!", "esc", "q", "pgup"}
	if kind == lessons.Goal {
		keys = append(keys, "space", "enter", "right", "pgdown")
	}
	return keys
}

// allKeys returns every key that the program knows, and every printable one.
func allKeys() map[string]bool {
	keys := map[string]bool{
		"space": true, "enter": true, "tab": true, "pgdown": true, "home": true,
		"end": true, "left": true, "right": true, "up": true, "down": true,
	}
	for r := '!'; r <= '~'; r++ {
		keys[string(r)] = true
	}
	for r := 'a'; r <= 'z'; r++ {
		keys["ctrl+"+string(r)] = true
	}
	delete(keys, "ctrl+z") // stops the program
	delete(keys, "ctrl+c") // ends it
	return keys
}

// overheard presses a key and tells every message that follows from it.
func overheard(m *Model, heard func(tea.Msg), name string) {
	var follow func(cmd tea.Cmd)
	follow = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, one := range batch {
				follow(one)
			}
			return
		}
		if msg != nil {
			heard(msg)
		}
		switch msg.(type) {
		case tickMsg, nil:
			return
		}
		_, next := m.Update(msg)
		follow(next)
	}
	_, cmd := m.Update(press(name))
	follow(cmd)
}

// TestQuestionShowsNoOtherValue: while an act asks what a turn does, no screen shows what the turn gives,
// of any figure, nor a block that says what other values give; after the answer those blocks come back.
func TestQuestionShowsNoOtherValue(t *testing.T) {
	all, errs := lessons.All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	blocks := map[string]bool{
		"IF BANDWIDTH": false, "no ZeRO ": false, "tokens/GPU 1": false,
		"bucket ": false,
	}
	for _, l := range all {
		for at := range l.Acts {
			act := &l.Acts[at]
			if len(act.Turned) == 0 || act.Kind == lessons.Goal {
				continue
			}
			for _, size := range [][2]int{{80, 24}, {120, 36}} {
				if !draws.Deep() && (at+len(l.ID)+size[0])%8 != 0 {
					continue
				}
				m := taughtAt(t, l, at, size[0], size[1], nil)
				page := above(screenText(m), act)
				for _, text := range laterOnly(&act.Before.Report, &act.After.Report) {
					if regexp.MustCompile(`(^|[^\d.,])` + regexp.QuoteMeta(text) +
						`($|[^\d])`).MatchString(page) {
						t.Errorf("%s, act %d shows %s, which the turn gives:\n%s", l.ID, at+1, text, page)
					}
				}
				tell(m, "!")
				for block := range blocks {
					if strings.Contains(page, block) {
						t.Errorf("%s, act %d shows %q before the answer:\n%s", l.ID, at+1, block, page)
					}
					blocks[block] = blocks[block] || strings.Contains(screenText(m), block)
				}
			}
		}
	}
	for block, seen := range blocks {
		if !seen && draws.Deep() {
			t.Errorf("%q is nowhere after an answer", block)
		}
	}
}

// above returns the page above the knob and the question of an act.
func above(text string, act *lessons.Act) string {
	text, _, _ = strings.Cut(text, "\n KNOB ")
	if at := strings.Index(text, act.Ask[:12]); at >= 0 {
		text = text[:at]
	}
	return text
}

// laterOnly returns the times, shares and amounts of memory and traffic that a report has after a turn,
// with their units as screens write them, and no figure has before it.
func laterOnly(before, after *engine.Report) []string {
	texts := func(r *engine.Report) map[string]bool {
		out := map[string]bool{}
		for _, f := range figures.List(r) {
			switch f.Unit {
			case record.Seconds, record.Share, record.Memory, record.Traffic:
			default:
				continue
			}
			if text := f.Unit.Text(f.Value); len(regexp.MustCompile(`\d`).FindAllString(text, -1)) > 2 {
				out[text] = true
			}
		}
		return out
	}
	was := texts(before)
	var only []string
	for text := range texts(after) {
		if !was[text] {
			only = append(only, text)
		}
	}
	return only
}
