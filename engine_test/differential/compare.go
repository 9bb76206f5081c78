package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// tally is what comparing a group of answers found.
type tally struct {
	documents, values int
	codes             map[int]int // answers of the first program by exit code
	numbers, texts    differences
	within            float64 // share by which numbers may differ
}

func (t *tally) add(q question, a, b answer) {
	if a.code != b.code {
		t.numbers.add("exit code", fmt.Sprintf("%s: %d, then %d", &q, a.code, b.code))
	}
	t.codes[a.code]++
	if q.plain {
		t.plain(q, a.output, b.output)
		return
	}
	before, after := documents(a.output), documents(b.output)
	if len(before) != len(after) {
		t.numbers.add("documents", fmt.Sprintf("%s: %d, then %d", &q, len(before), len(after)))
		return
	}
	t.documents += len(before)
	for i := range before {
		given := q.String()
		if lines := strings.Split(q.input, "\n"); q.input != "" && i < len(lines) {
			given = lines[i]
		}
		if q.figures {
			t.figures(given, before[i], after[i])
			continue
		}
		t.compare("", given, before[i], after[i])
	}
}

// figures compares the values of explanations by the names of their figures, to twelve
// digits: the parts of a figure may come in another order, and a value inside may be
// that of the engine or that of its formula.
func (t *tally) figures(given string, a, b any) {
	before, after := map[string]float64{}, map[string]float64{}
	collect(a, before)
	collect(b, after)
	for id, v := range before {
		t.values++
		w, ok := after[id]
		switch {
		case !ok:
			t.texts.add("figure "+id, given+": gone")
		case math.Abs(v-w) > 1e-12*max(math.Abs(v), math.Abs(w)):
			t.numbers.add(id, fmt.Sprintf("%s: %v, then %v", given, v, w))
		}
	}
}

func collect(doc any, into map[string]float64) {
	switch doc := doc.(type) {
	case map[string]any:
		if id, ok := doc["figure"].(string); ok {
			if n, ok := doc["value"].(json.Number); ok {
				into[id], _ = n.Float64()
			}
		}
		for _, v := range doc {
			collect(v, into)
		}
	case []any:
		for _, v := range doc {
			collect(v, into)
		}
	}
}

// documents are the JSON values of an output; numbers keep their digits.
func documents(output string) []any {
	d := json.NewDecoder(bytes.NewBufferString(output))
	d.UseNumber()
	var all []any
	for {
		var v any
		if d.Decode(&v) != nil {
			return all
		}
		all = append(all, v)
	}
}

// wall is what a clock or the build gives.
func wall() []string { return []string{".seconds", ".version", ".evaluations_per_second"} }

func (t *tally) compare(path, given string, a, b any) {
	if slices.Contains(wall(), path) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			t.numbers.add(path, given+": an object, then none")
			return
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok {
				t.numbers.add(path+"."+k, given+": gone")
				continue
			}
			t.compare(path+"."+k, given, v, w)
		}
		for k := range b {
			if _, ok := a[k]; !ok {
				t.numbers.add(path+"."+k, given+": new")
			}
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			t.lengths(path, given, a, b)
			return
		}
		for i := range a {
			t.compare(path+"[]", given, a[i], b[i])
		}
	case string:
		t.values++
		if w, ok := b.(string); !ok || a != w {
			into := &t.texts
			if !ok || !strings.Contains(a+w, " ") { // an id, a unit, a word of a closed set
				into = &t.numbers
			}
			into.add(path, fmt.Sprintf("%s: %.160q, then %.160q", given, a, fmt.Sprint(b)))
		}
	default:
		t.values++
		if fmt.Sprint(a) != fmt.Sprint(b) && !t.close(path, a, b) {
			t.numbers.add(path, fmt.Sprintf("%s: %v, then %v", given, a, b))
		}
	}
}

// close reports whether two numbers are the same but for rounding.
func (t *tally) close(path string, a, b any) bool {
	x, xOK := a.(json.Number)
	y, yOK := b.(json.Number)
	if !xOK || !yOK || strings.HasSuffix(path, "bytes") {
		return false
	}
	v, errV := x.Float64()
	w, errW := y.Float64()
	const nothing = 1e-12 // what is left of a difference of two equal numbers
	return errV == nil && errW == nil && math.Abs(v-w) <= t.within*max(math.Abs(v), math.Abs(w), nothing/1e-9)
}

// lengths: a list of sentences may have another number of them, any other list
// may not.
func (t *tally) lengths(path, given string, a, b any) {
	list, _ := a.([]any)
	into := &t.numbers
	if len(list) > 0 {
		if s, ok := list[0].(string); ok && strings.Contains(s, " ") {
			into = &t.texts
		}
	}
	into.add(path, fmt.Sprintf("%s: %.160q, then %.160q", given, fmt.Sprint(a), fmt.Sprint(b)))
}

// plain compares the numbers of two texts in their order.
func (t *tally) plain(q question, a, b string) {
	t.documents++
	if a != b {
		t.texts.add("wording", q.String())
	}
	number := regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
	x, y := number.FindAllString(a, -1), number.FindAllString(b, -1)
	t.values += len(x)
	if !slices.Equal(x, y) {
		t.numbers.add("numbers of a text", q.String())
	}
}
