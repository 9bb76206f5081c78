package lessons

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/record"
)

// prose fills the figures of an act's texts and refuses typed numbers.
func (l *loader) prose(key string, a *Act) {
	texts := []struct {
		key  string
		text *string
		side *Side // that a figure without a side is of
	}{
		{"ask", &a.Ask, &a.Before},
		{"point", &a.Point, &a.Before},
		{"why", &a.Why, &a.After},
		{"rule", &a.Rule, &a.After},
		{"notes", &a.Notes, &a.After},
		{"no.low", &a.Low, &a.After},
		{"no.high", &a.High, &a.After},
	}
	for _, t := range texts {
		l.fill(key+"."+t.key, t.text, a, t.side)
	}
	for i := range a.Options {
		at := fmt.Sprintf("%s.options.%d", key, i)
		if a.Kind != Point && a.Kind != Direction {
			l.fill(at+".say", &a.Options[i].Say, a, &a.Before)
		}
		l.fill(at+".no", &a.Options[i].No, a, &a.After)
	}
	asked := a.Ask
	for _, o := range a.Options {
		asked += "\n" + o.Say
	}
	mask := Begin(&Lesson{Acts: []Act{*a}}).Mask()
	for _, at := range mask.Places(asked) {
		l.failf(key+".ask", "or an option shows %s, which is masked or the figure after the change",
			asked[at[0]:at[1]])
	}
}

// inProse is a figure in a text, {peak}, {before peak}, {tp}, or arithmetic of figures, which have a side
// in brackets: {step(after) / microbatches(after)}.
var inProse = regexp.MustCompile(`\{(?:(before|after) )?([a-zA-Z0-9_.*-]+|[^{}]*\([^{}]*)\}`)

// typed is a number that stands alone, or before a unit.
var typed = regexp.MustCompile(
	`(?:^|[\s(])(\S*\s)?((?:\$|~)?\d[\d,.]*` +
		`(?:\s?%|\s?(?:[KMGT]i?B|s|ms|us|x|TFLOP\S*|times|tokens|days)\b|\b))`,
)

// fill puts figures in place of their names. A number that somebody typed is refused, but for
// one that belongs to a word: step 1, ZeRO 2, TP 8.
func (l *loader) fill(key string, text *string, a *Act, side *Side) {
	for _, m := range typed.FindAllStringSubmatch(inProse.ReplaceAllString(*text, "{}"), -1) {
		if !belongs(strings.TrimSpace(m[1]), m[2]) {
			l.failf(key, "has the typed number %q: write it as a figure in braces, such as {peak}",
				strings.TrimSpace(m[2]))
		}
	}
	*text = inProse.ReplaceAllStringFunc(*text, func(s string) string {
		m := inProse.FindStringSubmatch(s)
		if strings.Contains(m[2], "(") {
			f, err := computed(m[2], a)
			l.fail(key, err)
			return Text(f)
		}
		of := side
		switch m[1] {
		case beforeSide:
			of = &a.Before
		case afterSide:
			of = &a.After
		}
		shown, err := of.shown(m[2])
		l.fail(key, err)
		return shown
	})
}

// belongs reports whether a number is part of a word and no figure: a small whole one after a
// knob, a step, a stage or a rank.
func belongs(word, number string) bool {
	if strings.Trim(number, "0123456789.,") != "" || len(strings.TrimRight(number, ".,")) > 3 {
		return false
	}
	word = strings.ToLower(strings.Trim(word, "(,.;:"))
	for _, k := range knob.All() {
		if word == strings.ToLower(k.Label) || word == string(k.ID) {
			return true
		}
	}
	switch word {
	case "step", "stage", "stages", "rank", "zero", "zero-", "layer", "llama", "deepseek", "v", "act",
		"lesson", "from", "to":
		return true
	}
	return false
}

// shown returns a figure as a text has it, with its unit; of a knob its value.
func (s *Side) shown(name string) (string, error) {
	for _, k := range knob.All() {
		if flat(string(k.ID)) == flat(name) && !word(name) {
			return read(&k, s.Setup), nil
		}
	}
	switch flat(name) {
	case "model":
		return s.Setup.Model.Name, nil
	case "cluster":
		return s.Setup.Cluster.Name, nil
	}
	f, err := s.figure(name)
	if err != nil {
		return "", err
	}
	return Text(f), nil
}

// Words describes a setup in a line: model, GPUs, degrees above one, recomputation; of a setup that changes
// during the act, its values now.
func Words(s engine.Setup) string {
	words := []string{s.Model.Name, record.Thousands(strconv.Itoa(s.GPUs)) + " GPUs"}
	for _, k := range knob.All() {
		switch text := k.Text(s); k.ID {
		case knob.TP, knob.CP, knob.EP, knob.PP, knob.VPP, knob.DP:
			if text != "1" {
				words = append(words, k.Label+" "+text)
			}
		case knob.ZeRO:
			if s.DP > 1 {
				words = append(words, k.Label+" "+text)
			}
		case knob.Recompute:
			if text != "none" {
				words = append(words, text+" recompute")
			}
		default: // is said elsewhere on the screen, or is the same in a lesson
		}
	}
	return strings.Join(words, ", ")
}

// word reports whether a name is a short word for a figure.
func word(name string) bool {
	for _, w := range figures.Words() {
		if flat(w.Word) == flat(name) {
			return true
		}
	}
	return false
}

// Text writes a figure with its unit in three digits, as prose has it.
func Text(f figures.Figure) string {
	scale, unit := Unit(f)
	return strings.TrimSpace(three(f.Value/scale) + " " + unit)
}

// Unit returns the unit that a figure is asked and told in, and its size.
func Unit(f figures.Figure) (scale float64, name string) {
	switch f.Unit {
	case record.Share:
		return 0.01, "%"
	case record.Memory:
		return 1 << 30, "GiB"
	case record.Traffic:
		return 1e9, "GB"
	case record.Seconds:
		if f.Value < 1 {
			return 1e-3, "ms"
		}
		return 1, "s"
	case record.Count:
		if f.Value >= 1e9 {
			return 1e9, "billion"
		}
		return 1, ""
	default:
		return 1, string(f.Unit)
	}
}

// three writes a number with three digits, without zeros behind the point.
func three(v float64) string {
	text := fmt.Sprintf("%.3g", v)
	if strings.Contains(text, "e") || v >= 1000 {
		text = record.Thousands(strconv.Itoa(int(v + 0.5)))
	}
	return text
}

// counted returns a key with its act by the number that screens give it, from 1 on.
func counted(key string) string {
	rest, ok := strings.CutPrefix(key, "act.")
	number, of, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return key
	}
	return strings.TrimSuffix(fmt.Sprintf("act %d %s", n+1, of), " ")
}
