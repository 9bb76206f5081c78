// Package desk is a seat in a class as one explorer uses it: what it has taken of the class, its own
// answer, and what that says on the screen.
package desk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/lessons"
	"meshscope/ui/class"
	"meshscope/ui/lesson"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// Desk is a seat that is taken. Moment is the newest that was.
type Desk struct {
	class.Seat
	class.Moment
	Forked bool // the student explores

	Clock time.Time       // of the notes
	Shows uint64          // the place that is on the screen, by its number; 0: none of the class
	given string          // the last answer to the act that is on
	ended *lessons.Lesson // the lesson that was over when news was taken last
	// this act was explored while it asked: whoever did knows the answer, and votes no more
	spent bool
	at    struct {
		lesson *lessons.Lesson
		act    int
		step   class.Step
	}
}

// New sits down.
func New(s class.Seat) *Desk { return &Desk{Seat: s} }

// NewsMsg says that there is something new.
type NewsMsg struct{}

// pause is the shortest time between two states that a follower takes: at most ten a second, less
// where the class is large or the terminal takes them more slowly.
const pause = 100 * time.Millisecond

// Wait waits for news and for one's turn to draw them; nil once the seat is given back.
func (d *Desk) Wait() tea.Cmd {
	seat := d.Seat
	return func() tea.Msg {
		if !seat.Role().Teaches() {
			time.Sleep(pause)
		}
		if _, open := <-seat.News(); !open {
			return nil
		}
		for wait := seat.Turn(); wait > 0; wait = seat.Turn() {
			time.Sleep(wait)
		}
		return NewsMsg{}
	}
}

// Take takes the newest moment and reports whether another question or step is on.
func (d *Desk) Take() (moved bool) {
	d.Moment = d.Now()
	was := d.at
	d.at.lesson, d.at.act, d.at.step = d.Lesson, d.At, d.Step
	if d.at == was {
		return false
	}
	if was.lesson != d.at.lesson || was.act != d.at.act {
		d.given, d.spent = "", false
	}
	return true
}

// Finished reports, once, that a lesson has ended.
func (d *Desk) Finished() bool {
	was := d.ended
	d.ended = d.Ended
	return d.ended != nil && d.ended != was
}

// Follows reports whether the explorer shows what the presenter does.
func (d *Desk) Follows() bool { return d.Role() == class.Student && !d.Forked }

// Fork lets a student explore, or come back. An open question that is not answered by exploring is
// given up by it.
func (d *Desk) Fork(on bool) {
	d.spent = d.spent || on && d.Role() == class.Student && d.Lesson != nil && d.Step < class.Turned &&
		d.Act().Kind != lessons.Goal
	d.Forked = on
	d.Follow(!on)
}

// Dark reports whether the presenter has made the screen dark. Without a desk nobody has.
func (d *Desk) Dark() bool { return d != nil && d.Blank && !d.Forked && d.Role() != class.Notes }

// Says returns how the class stands, for the first line of the screen; nothing without a desk.
func (d *Desk) Says() string {
	if d == nil {
		return ""
	}
	c := &d.Counts
	switch {
	case d.Role().Teaches() && d.Lesson != nil:
		return fmt.Sprintf("%d follow, %d explore, %d of %d answered", c.Students-c.Exploring, c.Exploring,
			c.Answered, max(c.Students, c.Answered))
	case d.Role().Teaches():
		return fmt.Sprintf("%d follow, %d explore", c.Students-c.Exploring, c.Exploring)
	case d.Forked:
		return "yours; F rejoins"
	default:
		return "following"
	}
}

// Staged reports whether the strip with the question is on the screen.
func (d *Desk) Staged() bool { return d.Lesson != nil && d.Moment.Staged && !d.Forked }

// Play returns the play of the act with the answer that was given here.
func (d *Desk) Play() lessons.Play { return d.Moment.Play(d.given) }

// Answer votes with what was typed into the strip, which is kept where it counts.
func (d *Desk) Answer(given string) bool {
	if given == "" || d.Closed || d.spent || !d.Seat.Answer(d.ballot(given)) {
		return false
	}
	d.given, d.Voted = given, true
	return true
}

// ballot returns an answer as a number: of its option, of the step of the ladder that it is on.
func (d *Desk) ballot(given string) int {
	act := d.Act()
	if act.Kind == lessons.Number {
		v, err := lessons.Typed(given)
		if err != nil {
			return -1
		}
		return rung(v)
	}
	if act.Kind == lessons.Goal {
		return 0
	}
	return int(strings.ToLower(given)[0]) - 'a'
}

// open reports whether a vote takes an answer from here.
func (d *Desk) open() bool {
	return !d.Role().Teaches() && d.Step.Round() >= 0 && !d.Closed && !d.spent
}

// Strip returns what the class adds to the strip of the question.
func (d *Desk) Strip(left func() overlay.Action) *lesson.Class {
	s := &lesson.Class{
		Key: d.key(left), Open: d.open(), Leaving: d.leaving(), Hints: d.hints(),
		Line: d.line(),
	}
	if d.Step >= class.Shown && d.Act().Kind != lessons.Goal {
		s.Votes, s.Ladder = d.votes()
		s.Shown = len(s.Votes[0])+len(s.Votes[1]) > 0
	}
	return s
}

// leaving says what esc gives up while a question is open, which takes a second esc; empty: nothing.
func (d *Desk) leaving() string {
	switch {
	case d.Act().Kind == lessons.Goal:
	case d.Role().Teaches() && d.Step < class.Turned:
		return "esc again shows every figure to the class and leaves the knobs to you; B comes back to the " +
			"question."
	case d.open() && !d.Voted:
		return "esc again gives up your vote and leaves the knobs to you; F comes back to the class."
	}
	return ""
}

// votes returns the distributions as lists: by option, or by the steps of the ladder of numbers from
// the least to the greatest that somebody gave, with the words for them.
func (d *Desk) votes() (votes [2][]int, ladder []string) {
	act := d.Act()
	from, n := 0, len(act.Options)
	if act.Kind == lessons.Number {
		if from, n = span(d.Votes); n == 0 {
			return votes, nil
		}
		_, unit := lessons.Unit(act.Against)
		for _, words := range ladderText(from, n, d.Votes) {
			ladder = append(ladder, words+" "+unit)
		}
	}
	for i, round := range d.Votes {
		if len(round) == 0 {
			continue
		}
		votes[i] = make([]int, n)
		for at, count := range round {
			votes[i][min(max(at-from, 0), n-1)] += count
		}
	}
	return votes, ladder
}

// words names the step.
func (d *Desk) words() string {
	if d.Step == class.Vote && d.Act().Kind == lessons.Goal {
		return "to be reached"
	}
	return map[class.Step]string{
		class.Vote: "first vote", class.Discuss: "talk it over", class.Again: "second vote",
		class.Shown: d.legend(),
	}[d.Step]
}

// legend says which votes the bars show.
func (d *Desk) legend() string {
	switch first, second := len(d.Votes[0]) > 0, len(d.Votes[1]) > 0; {
	case first && second:
		return "the votes, first above second"
	case first:
		return "the votes, first round"
	case second:
		return "the votes, second round"
	}
	return "the votes"
}

// line says how the vote stands.
func (d *Desk) line() string {
	words := d.words()
	if d.Role().Teaches() && words != "" {
		return words + ": " + d.Says()
	}
	return words
}

// key takes a key before the strip: the presenter's moves, and for students what one alone may do
// and a class not.
func (d *Desk) key(left func() overlay.Action) func(string) (overlay.Action, bool) {
	return func(key string) (overlay.Action, bool) {
		revealed := d.Step == class.Turned
		switch {
		case key == "e" && revealed:
			return nil, false
		case key == "esc", key == "q":
			return left(), true
		case d.Role().Teaches(): // Press has had its keys; the picture has the others
			return nil, !revealed
		case !d.open():
			return nil, true
		case d.Act().Kind == lessons.Goal && (key == "space" || key == "enter"):
			return left(), true
		case slices.Contains([]string{"!", "space", "right", "pgdown", "pgup"}, key),
			d.Act().Kind == lessons.Goal:
			return nil, true
		}
		return nil, false
	}
}

// Press takes a key of who teaches; false: it is none of theirs. A clicker sends PgUp, PgDn and b or
// a dot. Moved tells what to do with the class.
func (d *Desk) Press(key string, staged bool) (class.Move, bool) {
	if !d.Role().Teaches() {
		return 0, false
	}
	switch key {
	case "pgdown":
		return class.Onward, d.Lesson != nil || d.Blank
	case "pgup":
		return class.Back, d.Lesson != nil || d.Blank
	case ".":
		return class.Blank, true
	case "b":
		return class.Blank, staged || d.Blank || d.Role() == class.Notes
	}
	if !staged && d.Role() != class.Notes {
		return 0, false
	}
	switch key {
	case "space", "right", "enter":
		return class.Onward, true
	case "left":
		return class.Back, true
	case "v":
		return class.Reveal, true
	}
	return 0, false
}

// givesUp stands behind esc while a vote is open.
const givesUp = "explore and give up the vote"

func (d *Desk) hints() []widget.Hint {
	if d.Role().Teaches() {
		next := map[class.Step]string{
			class.Vote: "close the vote", class.Discuss: "open the second vote",
			class.Again: "show the votes", class.Shown: "make the change", class.Turned: "next act",
		}[d.Step]
		switch act := d.Act(); {
		case d.Step == class.Turned && d.Next() == nil:
			next = "end the lesson"
		case d.Step < class.Turned && act.Kind == lessons.Goal:
			next = "show one way"
		case d.Step == class.Shown && len(act.Turned) == 0:
			next = "show the answer"
		}
		hints := []widget.Hint{{Key: "space", Text: next}, {Key: "pgup", Text: "back"}}
		if d.Step < class.Shown && d.Act().Kind != lessons.Goal {
			hints = append(hints, widget.Hint{Key: "v", Text: "votes at once"})
		}
		return append(hints, widget.Hint{Key: "b", Text: "dark"}, widget.Hint{Key: "esc", Text: "turn knobs"})
	}
	own := widget.Hint{Key: "esc", Text: "explore on your own"}
	switch act := d.Act(); {
	case d.Step == class.Turned:
		return []widget.Hint{{Key: "e", Text: "explain the figure"}, own}
	case d.spent:
		return []widget.Hint{{Key: "explored", Text: "no vote on this question"}, own}
	case d.Step.Round() < 0:
		return []widget.Hint{own}
	case d.Closed:
		return []widget.Hint{{Key: "closed", Text: "wait for the class"}, own}
	case d.Voted && act.Kind != lessons.Goal:
		return []widget.Hint{{
			Key:  d.given,
			Text: "is your answer; " + act.Keys() + " changes it, else wait for the class",
		}, own}
	case act.Kind == lessons.Goal:
		return []widget.Hint{{Key: "space", Text: "turn the knobs yourself, B when you are done"}}
	case act.Kind == lessons.Number:
		own.Text = givesUp
		return []widget.Hint{{Key: "0-9", Text: "type"}, {Key: "enter", Text: "answer"}, own}
	default:
		own.Text = givesUp
		return []widget.Hint{{Key: "a-" + lessons.Letter(len(act.Options)-1), Text: "answer"}, own}
	}
}
