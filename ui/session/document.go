package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
	"meshscope/themes"
)

// document is the file by its keys. What this program does not know stays as it is.
type document map[string]json.RawMessage

// text returns the file that holds a document.
func (d document) text() ([]byte, error) {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return append(text, '\n'), nil
}

// put sets a key. Words, numbers and switches are always JSON.
func (d document) put(key string, value any) {
	if text, err := json.Marshal(value); err == nil {
		d[key] = text
	}
}

// decode reads a file; an error means that none of it can be used.
func decode(text []byte) (document, error) {
	var d document
	if err := input.DecodeJSON(text, &d); err != nil {
		return nil, err
	}
	var n int
	if err := json.Unmarshal(d[versionKey], &n); err != nil || n != version {
		given := escape.Line(strings.TrimSpace(string(d[versionKey])))
		if given == "" {
			given = "missing"
		}
		return nil, fmt.Errorf("schema_version is %s, not %d", given, version)
	}
	return d, nil
}

// reading is the content of a document, and the rejected parts of it.
type reading struct {
	Session
	refused map[string]error // by key
	pins    int              // in the file that are understood
	strange int              // pins that are not: they stay in the file
}

// read takes a document for a session. A key that cannot be used counts as missing
// and is refused; words that this program does not have are left out.
func (d document) read(lib setupdoc.Library) reading {
	r := reading{Session: None(), refused: map[string]error{}}
	for key, into := range r.fields() {
		if text, said := d[key]; said {
			if err := json.Unmarshal(text, into); err != nil {
				r.refused[key] = err
			}
		}
	}
	r.Act = AtAct(Act(r.Act))
	r.Learned = d.learned()
	if text, said := d[setupKey]; said {
		setup, err := readSetup(text, lib)
		if err != nil {
			r.refused[setupKey] = err
		}
		r.Setup = setup
	}
	if _, err := d.pinTexts(); err != nil {
		r.refused[pinsKey] = err
	}
	r.takePins(d, lib)
	copy(r.Recent[:], d.recent())
	if _, ok := knob.Find(r.Focus); !ok {
		r.Focus = ""
	}
	if r.Theme != "auto" && !slices.Contains(themes.Names(), r.Theme) {
		r.Theme = ""
	}
	if len(r.Screen) > maxScreen {
		r.Screen = ""
	}
	return r
}

func (r *reading) takePins(d document, lib setupdoc.Library) {
	texts, _ := d.pinTexts()
	for _, text := range texts {
		pin, err := readSetup(text, lib)
		if err != nil {
			r.strange++
			continue
		}
		if r.pins < MaxPins {
			r.Pins[r.pins] = pin
		}
		r.pins++
	}
}

func (d document) pinTexts() ([]json.RawMessage, error) {
	var texts []json.RawMessage
	if text, said := d[pinsKey]; said {
		if err := json.Unmarshal(text, &texts); err != nil {
			return nil, err
		}
	}
	if len(texts) > mostPins {
		return nil, fmt.Errorf("%d pins; allowed: %d at most", len(texts), mostPins)
	}
	return texts, nil
}

// readSetup reads a legal setup.
func readSetup(text []byte, lib setupdoc.Library) (engine.Setup, error) {
	doc, err := setupdoc.Parse("session.json", text)
	if err != nil {
		return engine.Setup{}, err
	}
	setup, err := doc.AsStated().Setup(lib)
	if err != nil {
		return engine.Setup{}, err
	}
	if !engine.Legal(setup) {
		return engine.Setup{}, errors.New("it is not legal")
	}
	return setup, nil
}

// merged returns a document with what a run changed between its start and its end. The
// error says what could not be kept; the rest is.
func (d document) merged(start, end *Session, lib setupdoc.Library) (document, error) {
	out := maps.Clone(d)
	if out == nil {
		out = document{}
	}
	out.put(versionKey, version)
	before := start.fields()
	for key, is := range end.fields() {
		if !reflect.DeepEqual(before[key], is) {
			out.put(key, is)
		}
	}
	if end.Setup != start.Setup && end.Setup != (engine.Setup{}) {
		text, err := setupdoc.JSON(end.Setup)
		if err != nil {
			return out, fmt.Errorf("session: %w", err)
		}
		before, none := readSetup(d[setupKey], lib)
		out[setupKey] = text
		if none == nil && before != start.Setup && before != end.Setup { // another program's since then
			share, _ := setupdoc.Share(before, presets.Default(), lib)
			out.mergeRecent(&Session{}, &Session{Recent: [MaxRecent]string{share}})
		}
	}
	if end.Learned != start.Learned {
		out.put(learnedKey, Learn(d.learned(), strings.Fields(end.Learned)...))
	}
	if end.Recent != start.Recent {
		out.mergeRecent(start, end)
	}
	return out, out.mergePins(start, end, lib)
}

// learned returns the lessons that were gone through; what is none is left out.
func (d document) learned() string {
	var text string
	_ = json.Unmarshal(d[learnedKey], &text)
	return Learn("", strings.Fields(text)...)
}

// Learn adds lessons to those that were gone through: each once, in the order of the alphabet.
func Learn(learned string, ids ...string) string {
	const most, longest = 99, 64
	all := append(strings.Fields(learned), ids...)
	all = slices.DeleteFunc(all, func(id string) bool { return len(id) > longest })
	slices.Sort(all)
	all = slices.Compact(all)
	return strings.Join(all[:min(len(all), most)], " ")
}

// AtAct writes the lesson that is under way with its act.
func AtAct(lesson string, act int) string {
	const longest = 64
	if lesson == "" || len(lesson) > longest || act < 0 {
		return ""
	}
	return lesson + " " + strconv.Itoa(act+1)
}

// Act reads what AtAct has written; of another text no lesson.
func Act(text string) (lesson string, act int) {
	lesson, number, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 99 {
		return "", 0
	}
	return lesson, n - 1
}

// Learned returns the lessons of a file that were gone through; of one that cannot be read none.
func Learned(path string) []string {
	text, err := input.ReadRegular(path, input.MaxDocument)
	if err != nil {
		return nil
	}
	d, _ := decode(text)
	return strings.Fields(d.learned())
}

// recent returns the share strings of setups that were left. What is none is left out: it is
// nobody's work.
func (d document) recent() []string {
	var list []string
	_ = json.Unmarshal(d[recentKey], &list)
	list = slices.DeleteFunc(list, func(text string) bool { return !setupdoc.IsShare(text) })
	return list[:min(len(list), MaxRecent)]
}

// mergeRecent puts the setups that a run left before those of the file.
func (d document) mergeRecent(start, end *Session) {
	var list []string
	add := func(text string) {
		if text != "" && !slices.Contains(list, text) && len(list) < MaxRecent {
			list = append(list, text)
		}
	}
	for _, text := range end.Recent {
		if !slices.Contains(start.Recent[:], text) || slices.Index(end.Recent[:], text) == 0 {
			add(text)
		}
	}
	for _, text := range append(d.recent(), end.Recent[:]...) {
		add(text)
	}
	d.put(recentKey, list)
}

// mergePins adds what was pinned and takes out what was dropped. Pins that are not
// understood stay.
func (d document) mergePins(start, end *Session, lib setupdoc.Library) error {
	before, after := listed(start), listed(end)
	if slices.Equal(before, after) {
		return nil
	}
	old, _ := d.pinTexts()
	var texts []json.RawMessage
	var there []engine.Setup
	for _, text := range old {
		pin, err := readSetup(text, lib)
		if err == nil && slices.Contains(before, pin) && !slices.Contains(after, pin) {
			continue
		}
		texts, there = append(texts, text), append(there, pin)
	}
	left := 0
	for _, pin := range after {
		if slices.Contains(before, pin) || slices.Contains(there, pin) {
			continue
		}
		if len(texts) >= mostPins {
			left++
			continue
		}
		text, err := setupdoc.JSON(pin)
		if err != nil {
			return fmt.Errorf("session: %w", err)
		}
		texts = append(texts, text)
	}
	delete(d, pinsKey)
	if len(texts) > 0 {
		d.put(pinsKey, texts)
	}
	if left > 0 {
		return fmt.Errorf("session: %d pins of this run are not kept: the file holds %d", left, mostPins)
	}
	return nil
}

// listed returns the pins of a session.
func listed(s *Session) []engine.Setup {
	return slices.DeleteFunc(slices.Clone(s.Pins[:]),
		func(pin engine.Setup) bool { return pin == (engine.Setup{}) })
}
