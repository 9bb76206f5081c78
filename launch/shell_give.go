package launch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shift takes words from the front of the arguments.
func (w *walker) shift(c *syntax.CallExpr, fields []shellField) {
	n := 1
	if len(fields) > 0 {
		var ok bool
		if n, ok = wholeOf(fields[0]); !ok {
			n = -1
		}
	}
	args, given := w.vars[arguments]
	switch {
	case !given:
		w.succeeds(c, unsure)
	case n > len(args):
		w.succeeds(c, no)
	case n < 0 ||
		slices.ContainsFunc(args[:n],
			func(f shellField) bool {
				return strings.HasPrefix(w.reason(f.text), whether) || w.legible(f).bare
			}):
		w.vars[arguments] = []shellField{{text: w.hole("$@")}}
	default:
		w.vars[arguments] = args[n:]
	}
}

// readWords follows read from a text of the script; what else it reads is not known.
func (w *walker) readWords(c *syntax.CallExpr, fields []shellField) bool {
	e := &effects{names: map[string]bool{}, seen: map[*syntax.FuncDecl]bool{}}
	w.callEffects(c, e)
	raw, all, array := false, false, false
	i := 0
	for ; i < len(fields) && strings.HasPrefix(fields[i].text, "-"); i++ {
		switch fields[i].text {
		case "-r":
			raw = true
		case "-d", "-rd":
			raw = raw || fields[i].text == "-rd"
			all = i+1 < len(fields) && fields[i+1].text == ""
			if i++; !all {
				w.suffer(e, "read", w.lineOf(c))
				return true
			}
		case "-a", "-ra":
			raw, array = raw || fields[i].text == "-ra", true
		default:
			w.suffer(e, "read", w.lineOf(c))
			return true
		}
	}
	names := fields[i:]
	if w.input == nil || len(names) == 0 || array && len(names) != 1 ||
		slices.ContainsFunc(names, func(f shellField) bool { return !IsName(f.text) || w.special(f.text) }) ||
		hasHole(w.input.text) || len(w.input.text) > 1<<14 || e.all != "" {
		w.suffer(e, "read", w.lineOf(c))
		return true
	}
	w.written += len(w.input.text)
	text := w.input.text
	if !all {
		text, _, _ = strings.Cut(text, "\n")
	}
	before := w.copyOf(&w.shellState)
	// IFS=, read
	w.assign(c.Assigns)
	// an empty word
	if sep := w.vars["IFS"]; len(sep) > 0 && strings.Trim(sep[0].text, " \t\n") != "" &&
		strings.Contains(text, sep[0].text+sep[0].text) {
		w.shellState = before
		w.suffer(e, "read", w.lineOf(c))
		return true
	}
	n := len(names)
	if array {
		n = -1
	}
	words := expand.ReadFields(&expand.Config{Env: environ{w}}, text, n, raw)
	w.shellState = before
	if array {
		w.vars[names[0].text], w.arrays[names[0].text] = nil, true
		for _, word := range words {
			w.vars[names[0].text] = append(w.vars[names[0].text], shellField{text: word, line: w.lineOf(c)})
		}
		return true
	}
	for i, f := range names {
		word := ""
		if i < len(words) {
			word = words[i]
		}
		w.set(f.text, []shellField{{text: word, line: w.lineOf(c)}}, w.lineOf(c))
	}
	return true
}

// print follows printf -v.
func (w *walker) print(fields []shellField, line int) bool {
	if len(fields) == 0 || !strings.HasPrefix(fields[0].text, "-v") {
		return true
	}
	if name := strings.TrimPrefix(fields[0].text, "-v"); name != "" {
		w.doubt(name, "printf", line)
		return true
	}
	if len(fields) < 3 {
		w.doubtAll("printf", line)
		return true
	}
	name := fields[1].text
	if !IsName(name) {
		w.doubtAll("printf", line)
		return true
	}
	var args []string
	for _, f := range fields[2:] {
		args = append(args, f.text)
	}
	if strings.ContainsAny(args[0], "*123456789") && strings.Contains(args[0], "%") { // a width may be any
		w.doubt(name, "printf", line)
		return true
	}
	text, _, err := expand.Format(&expand.Config{Env: environ{w}}, args[0], args[1:])
	if err != nil || w.special(name) || w.arrays[name] || hasHole(strings.Join(args, "")) ||
		len(text) > 1<<12 {
		w.doubt(name, "printf", line)
		return true
	}
	w.set(name, []shellField{{text: text, line: line}}, line)
	return true
}

// source follows a file that is given with the script.
func (w *walker) source(c *syntax.CallExpr, fields []shellField) {
	name, line := w.legible(fields[0]).text, w.lineOf(c)
	end := fields[0].text // what is known of it
	if at := strings.LastIndex(fields[0].text, string(holeEnd)); at >= 0 {
		// of a folder that is not known
		end = strings.TrimPrefix(fields[0].text[at+len(string(holeEnd)):], "/")
	}
	if w.given.Source != nil && w.depth < maxShellDepth && end != "" {
		if data, ok := w.given.Source(end); ok && len(data) <= maxScript && nesting(data) <= maxNesting {
			file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(
				strings.NewReader(quotedLists(withoutHoles(string(data)))), name,
			)
			if err == nil {
				w.ignored = append(w.ignored,
					Ignored{
						Key: "source " + name, Why: "followed: its lines are those of that file",
						Line: line,
					})
				w.written += len(data)
				deeper := walker{script: w.script, depth: w.depth + 1}
				before, had := w.vars[arguments]
				if len(fields) > 1 {
					w.vars[arguments] = fields[1:]
				}
				w.nested++
				deeper.statements(file.Stmts)
				w.nested--
				if w.leave == "return" {
					w.leave = ""
				}
				if len(fields) > 1 {
					if w.vars[arguments] = before; !had {
						delete(w.vars, arguments)
					}
				}
				return
			}
		}
	}
	w.notFollowed(c, "source "+name,
		"another file, which is not read: --with names the folder that it lies in")
	if !sourcesNothing(fields[0].text) {
		w.doubtAll("source of "+name, line)
	}
}
