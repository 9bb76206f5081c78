//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"meshscope/cli/terminal"
	"meshscope/engine_test/draws"
	"meshscope/lessons"
	"meshscope/presets"
)

// TestLessonsInTerminal goes through the acts of lessons in the real program: what is masked is on no
// screen until it is answered. By default one lesson, whose masks hide digits, otherwise all at two sizes.
func TestLessonsInTerminal(t *testing.T) {
	t.Parallel()
	program := build(t)
	all, errs := lessons.All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, l := range all {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			if !draws.Deep() && (l.ID != "overlap-wall" || size[0] > 80) {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				screen := start(t, program, size[0], size[1], []string{"lesson", l.ID})
				for play := lessons.Begin(l); play.Phase != lessons.Over; {
					play = inTerminal(t, screen, play)
				}
				see(t, screen, "END OF LESSON")
				press(t, screen, "qq") // the card, then the program
				restored(t, screen, 0)
			})
		}
	}
}

// inTerminal plays an act on the screen and beside it.
func inTerminal(t *testing.T, screen *terminal.Terminal, play lessons.Play) lessons.Play {
	t.Helper()
	hidden := func() {
		text := screen.Text()
		page, _, _ := strings.Cut(text, "\n KNOB ") // below it stand the ladder and the guess
		page, _, _ = strings.Cut(page, play.Act().Ask[:20])
		if places := play.Mask().Places(page); !strings.HasPrefix(text, "LESSON ") || len(places) > 0 {
			t.Errorf("act %d: %v of what is masked on the screen:\n%s", play.At, places, text)
		}
	}
	see(t, screen, fmt.Sprintf("act %d of %d", play.At+1, len(play.Lesson.Acts)))
	see(t, screen, play.Act().Ask[:20]) // below what is masked: the whole frame has come
	hidden()
	press(t, screen, "yx:R") // nothing is copied, exported, listed or reported
	hidden()
	answer := "a"
	switch play.Act().Kind {
	case lessons.Number:
		answer = "1" + terminal.Enter
	case lessons.Goal:
		answer = "!"
	case lessons.Point:
		press(t, screen, terminal.Right)
		hidden()
		answer = terminal.Enter
	default:
	}
	press(t, screen, answer)
	if answer == "!" || answer == terminal.Enter {
		play = play.Skip()
	} else {
		play, _ = play.Answer(answer[:1])
	}
	if play.Phase == lessons.Turning {
		see(t, screen, "You said")
		hidden()
		press(t, screen, " ")
		play = play.Turn()
	}
	see(t, screen, "rule")
	press(t, screen, " ")
	return play.Next()
}

// TestLessonTextKeepsItsAnswers: what --text prints before an answer has no masked figure, in any unit.
func TestLessonTextKeepsItsAnswers(t *testing.T) {
	all, errs := lessons.All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	program, told := build(t), 0
	for _, l := range all {
		if !draws.Deep() && l.ID != "overlap-wall" && l.ID != "zero" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), program, "lesson", l.ID, "--text")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Split(string(out), "\nAct ")[1:]
		if len(asked) != len(l.Acts) {
			t.Fatalf("%s: %d questions of %d", l.ID, len(asked), len(l.Acts))
		}
		for i, text := range asked {
			before, after, _ := strings.Cut(text, "Answer with ")
			_, before, _ = strings.Cut(before, "\n") // below the number of the question
			mask := lessons.From(l, i).Mask()
			told += len(mask.Places(after))
			for _, at := range mask.Places(before) {
				t.Errorf("%s, question %d says %s:\n%s", l.ID, i+1, before[at[0]:at[1]], before)
			}
			if f := l.Acts[i].Against; f.ID != "" && l.Acts[i].Kind == lessons.Number &&
				strings.Contains(before, lessons.Text(f)) {
				t.Errorf("%s, question %d says its answer:\n%s", l.ID, i+1, before)
			}
		}
	}
	if told == 0 {
		t.Error("no answer tells what was masked")
	}
}
