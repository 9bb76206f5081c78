package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/lessons"
	"meshscope/serve"
	"meshscope/serve/room"
	"meshscope/ui"
	"meshscope/ui/class"
	"meshscope/ui/session"
)

// presenterFPS draws a presenter's keys at once.
const presenterFPS = 120

// enter returns what guests get to see: a class, or an explorer of their own. The class is kept in
// the state's folder until the context ends; close waits for that.
func (a *app) enter(ctx context.Context, s engine.Setup, f *serveFlags) (see func(serve.Guest) serve.Visit,
	closed func(), err error,
) {
	all, errs := lessons.All(ownLessons(), a.closed)
	a.leftOut(errs)
	turns := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	visit := func(serve.Guest) serve.Visit { return serve.Visit{Options: a.guest(s, all, turns)} }
	if f.free {
		return visit, func() {}, nil
	}
	var first *lessons.Lesson
	if f.lesson != "" {
		l, err := lessons.Find(all, f.lesson)
		if err != nil {
			return nil, nil, &usageError{"--lesson: " + err.Error()}
		}
		first = l
	}
	file := filepath.Join(f.state, "class.json")
	r := room.New(class.Place{Setup: s}, first)
	back := false
	if !f.fresh {
		err := serve.Unchangeable(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("the kept class: %w", err)
		}
		if back, err = r.Load(file, first, all, a.closed); err != nil {
			return nil, nil, fmt.Errorf("%w; --fresh begins anew", err)
		}
	}
	if back {
		a.sayf("meshscope: back at the class of the last run; --fresh begins anew\n")
	}
	r.Between = collectEarly
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.Keep(ctx, file, func(err error) { a.sayf("meshscope: the class is not kept: %v\n", err) })
	}()
	return func(g serve.Guest) serve.Visit {
		v := visit(g)
		role := class.Student
		if g.Presenter {
			role, v.FPS = class.Presenter, presenterFPS
			v.Options.Refuse, v.Options.Turns = nil, make(chan struct{}, 1)
		}
		seat := r.Join(role)
		v.Options.Setup, v.Options.Class, v.Leave = r.Start(), seat, seat.Leave
		return v
	}, func() { <-kept }, nil
}

// guest returns the options of a guest's explorer. Nothing in them reads or writes a file. Command lines are
// not taken either, since one may start a search. What takes long waits for the others.
func (a *app) guest(s engine.Setup, all []*lessons.Lesson, turns chan struct{}) ui.Options {
	return ui.Options{
		Refuse: tooLargeForGuests, Turns: turns,
		Setup: s, Asked: true, Library: a.closed, Version: version, Calm: true, Last: new(session.None()),
		Lessons: func() ([]*lessons.Lesson, []error) { return all, nil },
	}
}

// tooLargeForGuests refuses for guests what is slow: its timeline alone would take a hundred times the memory
// of a session.
func tooLargeForGuests(s *engine.Setup) (p engine.Problem) {
	if s.Slow() {
		p = engine.Problem{
			Code: "guest-too-large", Severity: layout.Error, Field: string(knob.MicroBatches),
			Message: "too large a pipeline for a guest of this server: fewer micro-batches, chunks or stages",
		}
	}
	return p
}

// serveLog opens the log: standard error, or a file where that is a terminal, whose lines would push the
// token out of sight.
func (a *app) serveLog(f *serveFlags) (to io.Writer, closed func(), err error) {
	const standardError = "-"
	path, whose := f.log, "--log: "
	if path == "" && a.prompt != nil {
		path, whose = filepath.Join(f.state, "serve.log"), "the log: "
	}
	if path == "" || path == standardError {
		return a.stderr, func() {}, nil
	}
	if at, err := os.Lstat(path); err == nil && !at.Mode().IsRegular() { // a pipe would wait for its reader
		return nil, nil,
			&usageError{whose + escape.Name(path) + " is no regular file; name one, or - for standard error"}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600) //nolint:gosec // the host's own path
	if err != nil {
		return nil, nil, &usageError{whose + escape.Line(err.Error())}
	}
	a.sayf("meshscope: log in %s\n", escape.Name(path))
	return file, func() { _ = file.Close() }, nil
}

// invitation tells how to log in.
func invitation(at net.Addr, access *serve.Access, f *serveFlags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "serving on %s\n", at)
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return b.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "HOST"
	}
	fmt.Fprintf(&b, "guests:    ssh -p %s %s\n", port, host)
	if f.free {
		return b.String()
	}
	fmt.Fprintf(&b, "presenter: ssh -p %s %s@%s", port, serve.Presenter, host)
	if access.Token != "" {
		fmt.Fprintf(&b, "\n           password %s (the token of this run; again for the notes)", access.Token)
	}
	return b.String() + "\n"
}
