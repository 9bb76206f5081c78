package room

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
	"meshscope/ui/class"
)

// kept is a class on disk: no names, no ids, votes as counts.
type kept struct {
	Setup  json.RawMessage        `json:"setup"`
	Locks  knob.Locks             `json:"locks"`
	Screen string                 `json:"screen"`
	Focus  knob.ID                `json:"focus"`
	Begun  string                 `json:"begun,omitempty"` // lesson that the server was started with
	Lesson string                 `json:"lesson,omitempty"`
	Act    int                    `json:"act"`
	Step   class.Step             `json:"step"`
	Staged bool                   `json:"staged"`
	Blank  bool                   `json:"blank"`
	Votes  map[int][2]map[int]int `json:"votes,omitempty"` // by act, of rounds that are closed
}

// snapshot returns what is kept.
func (r *Room) snapshot() (kept, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.moment
	setup, err := setupdoc.JSON(m.Place.Setup)
	k := kept{
		Begun: r.begun, Setup: setup, Locks: m.Place.Locks, Screen: m.Place.Screen,
		Focus: m.Place.Focus, Act: m.At, Step: m.Step, Staged: m.Staged, Blank: m.Blank,
		Votes: map[int][2]map[int]int{},
	}
	if m.Lesson == nil {
		return k, err
	}
	k.Lesson = m.Lesson.ID
	for at, rounds := range r.closed {
		k.Votes[at] = rounds
	}
	now := r.distributions()
	if open := m.Step.Round(); open >= 0 && len(r.closed[m.At][open]) == 0 {
		now[open] = nil // who is there after a restart votes once more
	}
	k.Votes[m.At] = now
	return k, err
}

// Load goes back to the class of a file, with the lessons and presets that there are: false where there is no
// such file, or where its lesson is over or another one than the first that is asked for now began it.
func (r *Room) Load(file string, first *lessons.Lesson, all []*lessons.Lesson, lib *presets.Library) (bool,
	error,
) {
	data, err := input.ReadFile(file, input.MaxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && len(bytes.TrimSpace(data)) == 0: // as a full disk leaves it
		return false, nil
	}
	damaged := func(err error) (bool, error) {
		return false,
			&input.Error{File: file, Err: fmt.Errorf("the kept class cannot be read: %w", input.Reason(err))}
	}
	if err != nil {
		return damaged(err)
	}
	var k kept
	if err := input.DecodeJSON(data, &k); err != nil {
		return damaged(err)
	}
	setup, err := setupOf(k.Setup, lib)
	if err != nil {
		return damaged(err)
	}
	var l *lessons.Lesson
	if k.Lesson != "" {
		if l, err = lessons.Find(all, k.Lesson); err != nil {
			return damaged(err)
		}
	}
	if err := k.check(l); err != nil {
		return damaged(err)
	}
	if first != nil && l != first && (l == nil || k.Begun != first.ID) {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = k.Begun
	if first != nil {
		r.begun = first.ID
	}
	m := &r.moment
	m.Place, m.View = class.Place{Setup: setup, Locks: k.Locks, Screen: k.Screen, Focus: k.Focus}, nil
	m.Lesson, m.At, m.Step, m.Staged, m.Blank = l, k.Act, k.Step, k.Staged && l != nil, k.Blank
	m.Of++
	r.closed = map[int][2]map[int]int{}
	for at, rounds := range k.Votes {
		r.closed[at] = rounds
	}
	r.clear()
	r.publish()
	return true, nil
}

// mostVotes bounds the votes of a file for one answer: no class is larger.
const mostVotes = 1 << 16

// check returns what is wrong with a class of that lesson; nil is none.
func (k *kept) check(l *lessons.Lesson) error {
	acts := 0
	if l != nil {
		acts = len(l.Acts)
	}
	if k.Step > class.Turned || k.Act < 0 || k.Act > 0 && k.Act >= acts {
		return errors.New("is at an act that its lesson does not have")
	}
	for at, rounds := range k.Votes {
		if at < 0 || at >= acts {
			return fmt.Errorf("has votes on act %d, which its lesson does not have", at)
		}
		for _, votes := range rounds {
			for ballot, n := range votes {
				if ballot < 0 || ballot >= MaxBallots || n < 0 || n > mostVotes {
					return fmt.Errorf("has %d votes for answer %d of act %d; allowed are up to %d, for "+
						"answers 0 to %d", n, ballot, at, mostVotes, MaxBallots-1)
				}
			}
		}
	}
	return nil
}

// setupOf reads a setup document.
func setupOf(data []byte, lib *presets.Library) (engine.Setup, error) {
	d, err := setupdoc.Parse("class.json", data)
	if err != nil {
		return engine.Setup{}, err
	}
	return d.AsStated().Setup(lib)
}

// keepPause is the least time between two writings of the file.
const keepPause = time.Second

// Keep writes the class to a file when it has changed, and at the end of the context. Where that fails it
// tells once, and tries again at the next change.
func (r *Room) Keep(ctx context.Context, file string, failed func(error)) {
	var last []byte
	told := false
	write := func() {
		var err error
		if last, err = r.write(file, last); err != nil && !told {
			failed(err)
		}
		told = err != nil
	}
	for {
		select {
		case <-ctx.Done():
			write()
			return
		case <-r.changed:
		}
		write()
		select {
		case <-ctx.Done():
		case <-time.After(keepPause):
		}
	}
}

// write writes the file anew, whole or not at all, where it would differ from last.
func (r *Room) write(file string, last []byte) ([]byte, error) {
	k, err := r.snapshot()
	if err != nil {
		return last, err
	}
	data, err := json.MarshalIndent(k, "", " ")
	if err != nil || string(data) == string(last) {
		return last, err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".class-*")
	if err != nil {
		return last, err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return last, errors.Join(err, os.Remove(f.Name()))
	}
	return data, nil
}
