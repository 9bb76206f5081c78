package search

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/ui/screen"
	"meshscope/ui/textbox"
)

// entry is a value that is typed into the knob under the cursor.
type entry struct {
	on    bool
	input textbox.Field
	wrong string // why it is not taken
}

// secondsPerDay are those of a deadline, which is shown in days.
const secondsPerDay = 86400

// param returns the knob of a facet that takes numbers.
func (k facet) param() (knob.Knob, bool) {
	p, ok := knob.Find(k.row().id)
	return p, ok && (p.Kind == knob.Number || p.Kind == knob.Figure)
}

// counts reports whether a knob takes numbers.
func (k facet) counts() bool {
	_, ok := k.param()
	return ok || k == numbers || k == deadline || k == headroom
}

// startEntry begins to type into the knob under the cursor.
func (v *View) startEntry(digit string) screen.Request {
	e := &v.entry
	*e = entry{on: true, input: textbox.New(16)}
	if !v.knob.counts() {
		e.on = false
		e.wrong = v.knob.label() + " takes one of: " + strings.Join(v.values[v.knob], ", ")
		return screen.Request{}
	}
	e.input.Type(digit)
	return screen.Request{}
}

// entryKey edits, takes or drops what is typed.
func (v *View) entryKey(in *screen.Context, key string) screen.Request {
	e := &v.entry
	switch key {
	case "esc":
		*e = entry{}
	case "enter":
		return v.takeEntry(in)
	case "up":
		*e = entry{}
		v.moveKnob(in, -1)
	case "down":
		*e = entry{}
		v.moveKnob(in, 1)
	default:
		e.input.Type(key)
		e.wrong = ""
	}
	return screen.Request{}
}

// takeEntry turns the knob to what is typed. What it cannot be stays, with the reason
// and the nearest value, which a second enter takes.
func (v *View) takeEntry(in *screen.Context) screen.Request {
	e := &v.entry
	word, err := v.read(v.knob, e.input.Value())
	if err != nil {
		e.wrong = err.Error()
		var value *knob.ValueError
		if errors.As(err, &value) && value.Nearest != "" {
			e.input.Set(value.Nearest)
			e.input.End()
			e.wrong += "; enter takes it"
		}
		return screen.Request{}
	}
	*e = entry{}
	v.admit(v.knob, word)
	before := v.chosen
	if v.set(v.knob, word); v.chosen == before {
		return screen.Request{}
	}
	return v.Refresh(in)
}

// read makes the word of a knob of what was typed.
func (v *View) read(k facet, text string) (string, error) {
	text = strings.TrimSpace(text)
	if i := slices.IndexFunc(v.values[k],
		func(word string) bool { return strings.EqualFold(word, text) }); i >= 0 {
		return v.values[k][i], nil
	}
	refuse := func(allowed, nearest string) error {
		return &knob.ValueError{Field: k.label(), Given: text, Allowed: allowed, Nearest: nearest}
	}
	p, ok := k.param()
	switch {
	case k == budget:
		n, err := p.ParseFigure(text)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return v.values[k][0], nil
		}
		s := v.valuesOf
		s.Budget = n
		return p.Text(s), nil
	case ok:
		n, err := p.ParseInt(text)
		return strconv.Itoa(n), err
	case k == headroom: // in percent, said or not
		number := strings.TrimSpace(strings.TrimSuffix(text, "%"))
		if _, err := knob.ParseShare(k.label(), number+"%"); err != nil {
			return "", err
		}
		digits, _, _ := knob.Plain(number)
		n, err := strconv.ParseFloat(digits, 64)
		return plainNumber(n) + " %", err
	case k == deadline: // in days where no unit is said
		time := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(text, "days"), "day"))
		digits, unit, number := knob.Plain(time)
		if n, err := strconv.ParseFloat(digits, 64); err == nil && n == 0 && unit == "" {
			return noDeadline, nil
		}
		if number && unit == "" {
			time += "d"
		}
		seconds, err := knob.ParseDeadline(k.label(), time)
		if err != nil {
			return "", err
		}
		if seconds == secondsPerDay {
			return "1 day", nil
		}
		return plainNumber(seconds/secondsPerDay) + " days", nil
	case k == numbers:
		n, err := strconv.Atoi(strings.TrimPrefix(text, "to "))
		all := doubled(&v.valuesOf)
		if i := slices.Index(all, n); err == nil && i >= 0 && slices.Contains(v.values[k], upTo(n)) {
			return upTo(n), nil
		}
		nearest := ""
		if err == nil {
			nearest = strconv.Itoa(nearestOf(all[min(1, len(all)-1):], n))
		}
		return "", refuse("the GPUs of 1, 2, 4 and more nodes, doubled", nearest)
	}
	return "", refuse(strings.Join(v.values[k], ", "), "")
}

func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// nearestOf returns the value of a list that is closest by ratio; of two the smaller.
func nearestOf(list []int, n int) int {
	best := list[0]
	for _, v := range list {
		if ratio(v, n) < ratio(best, n) {
			best = v
		}
	}
	return best
}

func ratio(a, b int) float64 {
	x, y := float64(max(a, 1)), float64(max(b, 1))
	return max(x/y, y/x)
}

// admit puts a word that was typed among the values of its knob, in their order.
func (v *View) admit(k facet, word string) {
	if slices.Contains(v.values[k], word) || len(v.values[k]) == 0 {
		return
	}
	v.typed[k] = word
	size := func(word string) float64 {
		var n float64
		if k == budget {
			if p, ok := k.param(); ok {
				n, _ = p.ParseFigure(word)
			}
			return n
		}
		_, _ = fmt.Sscanf(word, "%f", &n)
		return n
	}
	at := 1 + len(v.values[k][1:])
	for i, other := range v.values[k] {
		if i > 0 && size(other) > size(word) {
			at = i
			break
		}
	}
	v.values[k] = slices.Insert(slices.Clone(v.values[k]), at, word)
}

// entryStatus returns what can be typed, or why what was typed is not taken.
func (v *View) entryStatus() string {
	if v.entry.wrong != "" {
		return v.entry.wrong
	}
	p, ok := v.knob.param()
	allowed := map[facet]string{
		numbers: "the GPUs of 1, 2, 4 and more nodes", headroom: "0 to below 100 % of the usable memory",
		deadline: "days, or a time such as 36h or 6w; 0 for none",
	}[v.knob]
	if ok {
		allowed = p.Allowed()
	}
	return v.knob.label() + ": " + allowed + "; enter takes it, esc does not"
}
