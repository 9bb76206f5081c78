package state

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/report/figure"
)

// Typed returns the action that puts a typed value into a knob, one of Nothing where nothing was
// typed, or why the value cannot be taken.
func Typed(s *State, id knob.ID, text string) (Action, error) {
	text = strings.TrimSpace(text)
	p, ok := knob.Find(id)
	if !ok || text == "" && p.Kind != knob.List {
		return Action{}, nil
	}
	if strings.HasPrefix(text, "--") {
		return Action{}, errors.New("flags alone are not read: tp=8,pp=4 turns knobs, " +
			"and with meshscope before them they give a setup")
	}
	if most := 40; strings.Contains(text, "\n") || utf8.RuneCountInString(text) > most {
		return Action{}, errors.New("no share string, command line, file or value; " +
			Preview(&s.Setup, &p, ""))
	}
	means := meant(&p, text)
	if _, err := knob.Turn(s.Setup, id, means, s.Locks); err != nil {
		if bad, ok := errors.AsType[*knob.ValueError](err); ok && bad.Given == means {
			asTyped := *bad
			asTyped.Given, err = text, &asTyped
		}
		return Action{}, errors.New(sentence(err))
	}
	return Action{Verb: SetKnob, ID: id, Text: means}, nil
}

// meant returns the value that a typed text means where the row is in sight: a number is layers per rank of
// recomputation, or a rate in the unit of the values that are drawn; a word's beginning that no other has is
// that word.
func meant(p *knob.Knob, text string) string {
	number := text != "" && strings.Trim(text, "0123456789.") == ""
	switch {
	case number && p.ID == knob.Recompute:
		return "full:" + text
	case number && p.Kind == knob.Rate:
		return text + "Gb/s"
	case p.Kind != knob.Choice || text == "":
		return text
	}
	if to, err := p.Set(engine.Setup{}, text); err == nil { // targets of LoRA: q is one, and begins qv
		return p.Text(to)
	}
	var begin []string
	for _, word := range p.Choices {
		if strings.HasPrefix(word, strings.ToLower(text)) {
			begin = append(begin, word)
		}
	}
	if len(begin) == 1 {
		return begin[0]
	}
	return text
}

// sentence returns a value error as people read it.
func sentence(err error) string {
	var bad *knob.ValueError
	if !errors.As(err, &bad) {
		return err.Error()
	}
	is := "is not"
	if bad.Open {
		is = "can be"
	}
	field, allowed, nearest := bad.Field, bad.Allowed, bad.Nearest
	if bad.List {
		allowed += "; the Search screen takes lists"
	}
	if p, ok := knob.Find(knob.ID(field)); ok {
		field = p.Label // as its row has it
		allowed = strings.Replace(allowed, p.Allowed(), allowedOf(&p), 1)
		if n, err := strconv.Atoi(nearest); err == nil && !bad.Open {
			nearest = figure.Comma(n)
		}
	}
	text := fmt.Sprintf("%s: %q %s %s", field, bad.Given, is, allowed)
	if nearest != "" {
		text += "; nearest " + nearest
	}
	return text
}

// allowedOf says what a knob allows, large numbers with their commas.
func allowedOf(p *knob.Knob) string {
	if p.Kind == knob.Number {
		return fmt.Sprintf("a whole number from %s to %s", figure.Comma(p.Min), figure.Comma(p.Max))
	}
	return p.Allowed()
}

// Preview says what text that is typed for a knob of a setup would mean, or both readings where it can
// mean two.
func Preview(s *engine.Setup, p *knob.Knob, text string) string {
	allowed := p.Label + ": " + allowedOf(p)
	if text == "" {
		if p.ID == knob.GBS {
			allowed += ", or tokens: 4Mtok"
		}
		return allowed
	}
	text = strings.TrimSpace(text) // a paste may end in a blank
	means := meant(p, text)
	to, err := p.Set(*s, means)
	if bad, ok := errors.AsType[*knob.ValueError](err); ok && bad.Open {
		return sentence(err)
	}
	if n, ok := p.Value(&to).(int); ok && p.Kind == knob.Number && err == nil && strconv.Itoa(n) != text {
		return fmt.Sprintf("%s = %s", text, figure.Comma(n))
	}
	if means != text && p.Kind != knob.Number {
		return fmt.Sprintf("%s = %s; %s", text, means, allowed)
	}
	return allowed
}
