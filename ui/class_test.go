package ui

import (
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/serve/room"
	"meshscope/ui/class"

	"meshscope/ui/screens/search"
	"meshscope/ui/tty"
)

// TestClassFrames: a follower that goes through any number of window sizes neither fills the memory of the
// shared frames nor keeps those out that come after.
func TestClassFrames(t *testing.T) {
	var f frames
	frame := strings.Repeat("x", mostFrameBytes/100)
	for width := range 1000 {
		k := frameKey{caps: tty.Caps{Width: width}}
		f.keep(k, frame)
		f.keep(k, frame)
		if have, ok := f.get(k); !ok || have != frame {
			t.Fatalf("frame %d is not kept", width)
		}
	}
	if len(f.by) != 100 || len(f.order) != 100 || f.bytes != 100*len(frame) {
		t.Errorf("%d frames, %d in order, %d bytes", len(f.by), len(f.order), f.bytes)
	}
	if f.keep(frameKey{}, strings.Repeat("x", mostFrameBytes+1)); len(f.by) != 100 {
		t.Error("one too large moves the others out")
	}
}

// member is a model in a class; a crash of its work is an error of the test.
type member struct {
	*Model
	t *testing.T
}

func (m member) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if crash, ok := msg.(crashedMsg); ok {
		m.t.Errorf("%s\n%s", crash.what, crash.stack)
	}
	_, cmd := m.Model.Update(msg)
	return m, cmd
}

// TestClassAtRandom: a presenter and students of whom two share frames press random keys on all screens at
// the same time: nothing crashes, the race detector finds nothing that they share, and who comes back has the
// presenter's setup.
func TestClassAtRandom(t *testing.T) {
	pressed, pause := 40, 2*time.Millisecond
	if draws.Deep() {
		pressed, pause = 1500, 10*time.Millisecond
	}
	names := strings.Fields("tab tab tab down right up left s } { ) ( enter P d D o p x v c m / esc esc " +
		"esc F F space w u t l S h + - [ ] 1 2 3 4 5 6 7 8")
	r := room.New(class.Place{Setup: presets.DefaultSetup()}, nil)
	turns := make(chan struct{}, 1)
	var all []*Model
	var wait sync.WaitGroup
	for i, size := range [][2]int{{120, 36}, {100, 30}, {100, 30}, {80, 24}} {
		role := class.Student
		if i == 0 {
			role = class.Presenter
		}
		seat, env := r.Join(role), []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"}
		t.Cleanup(seat.Leave)
		m := New(Options{
			Setup: presets.DefaultSetup(), Class: seat, Evaluate: plain, Turns: turns,
			Calm: true, Env: env,
		})
		all = append(all, m)
		program := tea.NewProgram(member{m, t}, tea.WithInput(nil), tea.WithOutput(io.Discard),
			tea.WithEnvironment(env), tea.WithWindowSize(size[0], size[1]),
			tea.WithColorProfile(colorprofile.ANSI256), tea.WithoutSignals(), tea.WithFPS(120))
		wait.Go(func() {
			if _, err := program.Run(); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for range pressed {
				program.Send(press(names[random.IntN(len(names))]))
				time.Sleep(pause)
			}
			program.Quit()
		})
	}
	wait.Wait()
	for _, m := range all { // what still computes for nobody
		m.leaveScreen(m.state.Tab)
		m.halt()
	}
	for i, m := range all[1:] {
		m.rejoin()
		m.attend()
		if d := m.desk; !d.Follows() || m.state.Setup != d.Place.Setup ||
			m.state.Setup != all[0].desk.Now().Place.Setup {
			t.Errorf("student %d is back and follows %t, with %+v", i, d.Follows(), m.state.Setup.Layout)
		}
	}
}

// TestClassSharesCores: on a server a search has one core.
func TestClassSharesCores(t *testing.T) {
	for _, turns := range []chan struct{}{nil, make(chan struct{}, 1)} {
		m := New(Options{Turns: turns, Env: []string{}})
		if shared := m.screens.all[SearchTab].(*search.View).Shared; shared != (turns != nil) {
			t.Errorf("with turns %t it is shared %t", turns != nil, shared)
		}
	}
}
