package presets

import (
	"cmp"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/presets/near"
)

// UnknownError reports an id that no preset has, and the ids like it, if there are any.
type UnknownError struct {
	Kind    string // model, GPU, cluster
	ID      string
	Nearest []string // best first
	NoFile  bool     // the id names a file, which is not there
}

func (e *UnknownError) Error() string {
	message := "unknown " + e.Kind + " " + escape.Quote(e.ID)
	if e.NoFile {
		message += "; there is no such file"
	}
	if e.Kind != "model" && (strings.ContainsAny(e.ID, `/\`) || strings.HasSuffix(e.ID, ".toml") ||
		strings.HasSuffix(e.ID, ".json")) {
		return message + ": files are not taken here; one in presets/" + strings.ToLower(e.Kind) +
			"s of the configuration folder is named by its id"
	}
	switch folder, listed := e.folder(); {
	case len(e.Nearest) == 0 && e.NoFile:
		return message
	case len(e.Nearest) == 0 && listed:
		return message + "; 'meshscope presets " + folder + "' lists all"
	case len(e.Nearest) == 0:
		return message
	}
	return message + ": did you mean " + strings.Join(e.Nearest, ", ") + "?"
}

// folder returns the name of the list of presets of a kind; false for kinds without one.
func (e *UnknownError) folder() (string, bool) {
	of := strings.ToLower(e.Kind) + "s"
	return of, slices.Contains([]string{"models", "gpus", "clusters"}, of)
}

// otherIDs are names of models that have the architecture of a preset.
func otherIDs() map[string]string {
	return map[string]string{
		"deepseek-r1": "deepseek-v3", "deepseek-v3.1": "deepseek-v3", "llama3.3-70b": "llama3.1-70b",
		"llama-3.3-70b": "llama3.1-70b",
		"llama-7b":      "llama1-7b", "llama-13b": "llama1-13b", "llama-65b": "llama1-65b",
		"gpt-3": "gpt3-175b", "gpt3": "gpt3-175b",
	}
}

const (
	nearestIDs = 4
	likeID     = 0.5            // the least similarity at which an id is proposed
	longestID  = 2 * maxIDBytes // a longer one is compared up to here
)

func unknown(kind, id string, known []string) *UnknownError {
	asked := strings.ToLower(id)
	asked = asked[:min(len(asked), longestID)]
	closeness := make(map[string]float64, len(known))
	for _, k := range known {
		closeness[k] = similarity(asked, k)
	}
	slices.SortStableFunc(known, func(a, b string) int {
		return cmp.Or(cmp.Compare(closeness[b], closeness[a]), cmp.Compare(Form(a), Form(b)))
	})
	alike := slices.DeleteFunc(slices.Clone(known[:min(len(known), nearestIDs)]),
		func(k string) bool { return closeness[k] < likeID })
	none := &UnknownError{Kind: kind, ID: id, Nearest: alike}
	if kind == "GPU" && slices.ContainsFunc(alike, none.begins) { // h200 is no h20
		none.Nearest = slices.DeleteFunc(alike, func(k string) bool { return !none.begins(k) })
	}
	return none
}

// Form ranks the forms of a GPU, such as h100-sxm and h100-nvl: clusters are built of that of rank 0.
func Form(id string) int {
	if strings.Contains(id, "-sxm") {
		return 0
	}
	return 1
}

// begins reports whether what was typed is the first word of an id, or its first words.
func (e *UnknownError) begins(id string) bool {
	return e.ID != "" && strings.HasPrefix(id, strings.ToLower(e.ID)+"-")
}

// similarity returns the edit similarity without punctuation, raised where one id
// contains the other or all the words that were typed.
func similarity(asked, id string) float64 {
	a, b := near.Plain(asked), near.Plain(id)
	family, _, _ := strings.Cut(id, "-")
	score := near.Likeness(a, b)
	if a != family { // h1000 is near h100-sxm, not a6000
		score = max(score, near.Likeness(a, family))
	}
	if a == "" {
		return score
	}
	words := strings.FieldsFunc(asked, near.Separator)
	switch {
	case strings.HasPrefix(b, a), strings.ContainsAny(family, "0123456789") && startsWith(a, family):
		score += 2 // h200 and h200x are h200-sxm before they are h20
	case strings.Contains(b, a), startsWith(a, b), !strings.HasPrefix(a, b) && strings.Contains(a, b):
		score++
	}
	if len(words) > 1 &&
		!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(id, w) }) {
		score++
	}
	return score
}

// startsWith reports whether a text begins with another, whose last number does not go on: a100 is no a10.
func startsWith(text, with string) bool {
	rest, ok := strings.CutPrefix(text, with)
	digit := func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
	return ok && with != "" && (!digit(rest) || !digit(with[len(with)-1:]))
}
