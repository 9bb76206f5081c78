package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hereFile is a file that a script writes itself, from a here-document.
type hereFile struct {
	name string
	text string
	line int // of the script, where the text begins
}

// here keeps the here-documents of a statement, with the file that its output goes to.
func (w *walker) here(st *syntax.Stmt) {
	var file hereFile
	for _, r := range st.Redirs {
		switch {
		case r.Hdoc != nil:
			f := w.legible(w.hereText(r))
			file.text, file.line = f.text, f.line
		case r.Op == syntax.RdrOut || r.Op == syntax.RdrClob:
			file.name = path.Base(w.plain(r.Word).text)
		}
	}
	if file.text != "" && !w.tooLong() {
		w.files = append(w.files, file)
	}
}

// hereText returns a here-document, expanded unless its word is quoted.
func (w *walker) hereText(r *syntax.Redirect) shellField {
	if r.Word.Lit() == "" {
		return shellField{text: r.Hdoc.Lit(), line: w.lineOf(r.Word) + 1}
	}
	e := expansion{walker: w}
	e.parts(r.Hdoc.Parts, true)
	return shellField{text: e.now.text, line: w.lineOf(r.Word) + 1}
}

// mostHere bounds the here-documents that are tried.
const mostHere = 64

// readHere reads the file of a launcher that a job writes itself from a here-document, and the
// number of GPUs that the job starts. False where there is none.
func readHere(name string, data []byte, given Given) (Reading, bool) {
	text := string(data[:min(len(data), maxScript)])
	if !strings.Contains(text, "<<") {
		return Reading{}, false
	}
	s := parseScript(name, data, given)
	starts, _ := programOf(s)
	for _, file := range s.files[:min(len(s.files), mostHere)] {
		rest := []byte(strings.Replace(text, file.text, "", 1))
		if words := scriptWords(name, rest); saysMegatron(words) || saysBridge(words) { // the arguments count
			continue
		}
		of, ok := readProgramFile([]byte(file.text), given)
		// a file of what starts the program
		if starts != nil && starts.id != accelerateFile(false).id && (!ok || of.Launcher != starts.id) {
			continue
		}
		for _, l := range slices.Backward(Launchers()) {
			if !ok && l.says == nil && l.sniff != nil && l.sniff(file.name, []byte(file.text)) {
				of, ok = l.read(file.name, []byte(file.text), given), true
			}
		}
		if !ok {
			continue
		}
		r := reader{Reading: of}
		r.shift(file.line - 1)
		r.Problems = append(slices.Clone(s.problems), r.Problems...)
		r.Ignored = append(r.Ignored, s.ignored...)
		r.job(s)
		return r.Reading, true
	}
	return Reading{}, false
}

// shift adds lines to the places of a reading: those above its text.
func (r *reader) shift(lines int) {
	for i := range r.Understood {
		if r.Understood[i].Line > 0 {
			r.Understood[i].Line += lines
		}
	}
	for i := range r.Ignored {
		if r.Ignored[i].Line > 0 {
			r.Ignored[i].Line += lines
		}
	}
	for i := range r.Problems {
		if r.Problems[i].Line > 0 {
			r.Problems[i].Line += lines
		}
	}
}

// job resolves the number of GPUs that a job starts a file with: what torchrun is given, else the
// machines of the job with all their GPUs.
func (r *reader) job(s *script) {
	given := r.Setup["gpus"]
	for i := range s.calls {
		call := s.calls[i].fields
		if at := slices.IndexFunc(call,
			func(f shellField) bool { return path.Base(f.text) == "torchrun" }); at >= 0 {
			program := slices.IndexFunc(call,
				func(f shellField) bool { return strings.HasSuffix(f.text, ".py") || f.text == "-m" })
			if program < at {
				program = len(call)
			}
			r.world(s, call[:program])
			r.agrees(given)
			return
		}
	}
	if whole, err := wholeArgument(s.sbatch["nodes"], 1); err == nil {
		if each, err := wholeArgument(s.sbatch["gpus-per-node"], 1); err == nil {
			r.processes(times(whole, each), s.lines["nodes"])
			r.agrees(given)
		}
	}
}

// agrees tells where a job starts another number of processes than its file is for.
func (r *reader) agrees(given any) {
	if now := r.Setup["gpus"]; given != nil && now != nil && given != now {
		r.Problems = append(r.Problems,
			Problem{
				Line: r.started, Key: processes,
				Message: fmt.Sprintf("the job starts %v, the file it writes is for %v", now, given),
			})
		r.Setup["gpus"] = given
	}
}
