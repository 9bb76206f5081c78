package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"meshscope/engine/knob"
)

// commented finds figures that comments state, by the key of the setup that they are about.
//
//nolint:gochecknoglobals // made once, then only read
var commented = [...]struct {
	key  string
	form *regexp.Regexp
}{
	{flat(knob.GPUs), regexp.MustCompile(`(?i)\b(\d+)\s*(?:x\s*)?(?:[a-z]+\d+[a-z]*\s+)?gpus?\b`)},
	{flat(knob.Nodes), regexp.MustCompile(`(?i)\b(\d+)\s*nodes?\b`)},
	{flat(knob.TP), regexp.MustCompile(`(?i)\b(?:tp|tensor parallel(?:ism)?)\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.PP), regexp.MustCompile(`(?i)\b(?:pp|pipeline parallel(?:ism)?)\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.GBS), regexp.MustCompile(`(?i)\bglobal batch(?: size)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.MBS), regexp.MustCompile(`(?i)\bmicro[- ]?batch(?: size)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
	{flat(knob.Seq), regexp.MustCompile(`(?i)\bseq(?:uence)?[- ]?len(?:gth)?\s*(?:=|:|of|is)?\s*(\d+)\b`)},
}

// Bounds of the comments that are looked at, and of what is said of them.
const mostComments, maxComments = 8, 1 << 16

// remarks tells of figures in comments that differ from what is read: none of them is used.
func (r *Reading) remarks(text []byte) {
	said, number, looked := 0, 0, 0
	for line := range bytes.Lines(text) {
		number++
		at := bytes.IndexByte(line, '#')
		if looked > maxComments || said == mostComments {
			return
		}
		if at < 0 || len(line) > maxYAMLLine || bytes.HasPrefix(line, []byte("#!")) ||
			bytes.HasPrefix(line, []byte("#SBATCH")) {
			continue
		}
		if at > 0 && line[at-1] != ' ' && line[at-1] != '\t' { // ${#list}, a#b
			continue
		}
		looked += len(line) - at
		for _, row := range commented {
			m := row.form.FindSubmatch(line[at:])
			if m == nil || said == mostComments {
				continue
			}
			n, err := strconv.Atoi(string(m[1]))
			if v, read := r.Setup[row.key].(int); err != nil || read && v == n {
				continue
			}
			said++
			r.Ignored = append(r.Ignored, Ignored{
				Key: "comment", Line: number,
				Why: fmt.Sprintf("%s is a comment, which is not used",
					shown(strings.TrimSpace(string(m[0])))),
			})
		}
	}
}
