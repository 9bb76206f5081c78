package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/lessons"
	"meshscope/presets/setupdoc"
)

// lessonText asks the questions of a lesson from an act on as text and reads an answer from each line of
// standard input. Where that ends, the answers are shown.
func (a *app) lessonText(l *lessons.Lesson, act int) error {
	t := &teller{app: a, answers: bufio.NewScanner(a.stdin), width: a.width(presetWidth)}
	t.sayf("%s: %s", l.ID, l.Title)
	t.sayf("%d minutes, %d acts. Source: %s", l.Minutes, len(l.Acts), l.Source)
	play := lessons.From(l, act)
	if opening := play.Opening(); opening != "" {
		t.sayf("%s", opening)
	}
	for play.Phase != lessons.Over {
		play = t.act(play).Next()
	}
	end := "The end."
	if t.answered > 0 {
		end = fmt.Sprintf("The end: %d right, %d answered, of %d acts.", play.Right, t.answered, play.Total())
	}
	if next := lessons.Next(l.ID); next != "" {
		end += "\nNext: meshscope lesson " + next + " --text"
	}
	t.sayf("\n%s", end)
	return t.err
}

// unbroken stands for a hyphen while lines are broken: a non-breaking one.
const unbroken = "\u2011"

// teller writes a lesson as text.
type teller struct {
	app      *app
	answers  *bufio.Scanner
	width    int
	answered int
	err      error
}

func (t *teller) sayf(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "-", unbroken) // no flag ends at a line's end
	text = strings.ReplaceAll(ansi.Wordwrap(text, t.width, ""), unbroken, "-")
	if _, err := fmt.Fprintln(t.app.stdout, text); t.err == nil {
		t.err = err
	}
}

// act asks the question of an act, takes the answer and tells what the change does.
func (t *teller) act(p lessons.Play) lessons.Play {
	act := p.Act()
	t.sayf("\nAct %d of %d", p.At+1, len(p.Lesson.Acts))
	if flags, ok := setupdoc.Flags(act.Before.Setup, t.app.lib); ok {
		t.sayf("Setup: meshscope %s", flags)
	}
	if changed := p.Changed(); changed != "" {
		t.sayf("%s.", strings.ToUpper(changed[:1])+changed[1:])
	}
	t.sayf("%s", act.AskByLetter())
	for i, o := range act.Options {
		if act.Kind == lessons.Goal {
			t.sayf("  needed: %s", o.Say)
			continue
		}
		t.sayf("  %s  %s", lessons.Letter(i), o.Say)
	}
	p = t.ask(p)
	p = p.Turn()
	act = p.Act() // of a goal the one that was reached
	for _, turned := range act.Turned {
		t.sayf("Changed: %s from %s to %s.", turned.Label, turned.From, turned.To)
	}
	for _, c := range act.Moved() {
		t.sayf("  %s: %s, then %s", c.Name, c.Before, c.After)
	}
	t.sayf("Rule: %s", act.Rule)
	if c, ok := act.Price(); ok {
		t.sayf("Price: %s, %s before and %s now.", c.Name, c.Before, c.After)
	}
	return p
}

// ask reads answers until one can be read as such. At the end of the input it takes none.
func (t *teller) ask(p lessons.Play) lessons.Play {
	t.sayf("Answer with %s:", p.Act().Keys())
	for t.answers.Scan() {
		if strings.TrimSpace(t.answers.Text()) == "" {
			break
		}
		next, err := p.Answer(t.answers.Text())
		if err != nil {
			t.sayf("%v", err)
			continue
		}
		t.answered++
		switch {
		case next.Verdict.Right && next.Act().Kind == lessons.Goal:
			t.sayf("%s", next.Reached())
		case next.Verdict.Right:
			t.sayf("%s", strings.TrimSpace("Right: "+next.Verdict.Truth+". "+p.Act().Why))
		default:
			t.sayf("No. %s", next.Verdict.Says)
			t.sayf("%s", strings.TrimSpace("The answer: "+next.Verdict.Truth+". "+p.Act().Why))
		}
		return next
	}
	if err := t.answers.Err(); t.err == nil && err != nil {
		t.err = fmt.Errorf("read an answer: %w", err)
	}
	t.sayf("%s", strings.TrimSpace("Not answered. The answer: "+p.Act().Truth()+". "+p.Act().Why))
	return p.Skip()
}
