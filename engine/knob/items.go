package knob

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// commaList is what digits and commas can be.
type commaList int

const (
	noCommas     commaList = iota // anything but digits in groups
	oneNumber                     // 2,048
	aList                         // 256,512
	listOrNumber                  // 32,768
)

// listOf tells what grouped digits are in a place that takes lists. A part that begins with 0 belongs to
// a number. A list rises, each value to at most four times the one before, as the values of a search
// do, and is no multiple of 1,024 if it is read as one number.
func listOf(text string) commaList {
	const ratio, binary = 4, 1024
	digits := strings.TrimSpace(text)
	if !isGrouped(digits) || !strings.Contains(digits, ",") {
		return noCommas
	}
	parts := strings.Split(digits, ",")
	if slices.ContainsFunc(parts[1:], func(part string) bool { return part[0] == '0' }) {
		return oneNumber
	}
	for i := 1; i < len(parts); i++ {
		before, _ := strconv.Atoi(parts[i-1])
		if n, _ := strconv.Atoi(parts[i]); n <= before || n > ratio*before {
			return listOrNumber
		}
	}
	if whole, _ := strconv.Atoi(strings.ReplaceAll(digits, ",", "")); whole%binary == 0 {
		return listOrNumber
	}
	return aList
}

// listsElsewhere ends the error of a list where one value is wanted, for who types a command line.
const listsElsewhere = "; lists are for search and scan, and compare takes one value a side (tp=4 tp=8)"

// noScalar is the *ValueError of a list where one number is wanted.
func (k *Knob) noScalar(text string) *ValueError {
	return &ValueError{Field: string(k.ID), Given: text, Allowed: "one number", List: true}
}

var (
	// a comma with blanks separates, whatever is around it.
	separator = regexp.MustCompile(`\s*,\s+|\s+,`)
	// a place of three digits that begins with 0 belongs to the number before it.
	zeroLed = regexp.MustCompile(`[, ](0[0-9]{2})([^0-9]|$)`)
)

// Items cuts a list of numbers into them, as they are written: between them are commas, blanks or both.
// Commas between groups of three digits can be those of one number; what can be both is a *ValueError.
func (k *Knob) Items(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if isGrouped(text) && strings.Contains(text, " ") && zeroLed.MatchString(text) {
		return []string{text}, nil
	}
	var items []string
	for _, piece := range separator.Split(text, -1) {
		chunks := strings.FieldsFunc(piece, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(chunks) == 0 {
			items = append(items, "")
		}
		first := len(items)
		for _, chunk := range chunks {
			if last := len(items) - 1; last >= first &&
				strings.Trim(chunk, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
				items[last] += chunk // a unit
				continue
			}
			cut, err := k.cutCommas(chunk)
			if err != nil {
				return nil, err
			}
			items = append(items, cut...)
		}
		if slices.ContainsFunc(chunks[min(1, len(chunks)):],
			func(chunk string) bool {
				return zeroLed.MatchString(" "+chunk[:min(4, len(chunk))]) && chunk[0] == '0'
			}) {
			return nil, k.partOfNumber(text)
		}
	}
	return items, nil
}

// cutCommas cuts a list without blanks.
func (k *Knob) cutCommas(chunk string) ([]string, error) {
	parts := strings.Split(chunk, ",")
	w, ok := readWritten(chunk)
	if len(parts) == 1 {
		return parts, nil
	}
	if !ok {
		if zeroLed.MatchString(chunk) {
			return nil, k.partOfNumber(chunk)
		}
		return parts, nil
	}
	size, known := k.sizeOf(w.unit)
	kind := listOf(strings.TrimSuffix(chunk, w.unit))
	switch {
	case kind == oneNumber, kind != noCommas && inTokens(w.unit): // a batch in tokens has its unit on each
		return []string{chunk}, nil
	case kind == noCommas && w.unit == "", !known: // 2,5
		return parts, nil
	case kind == aList && w.unit == "":
		return parts, nil
	}
	number := w.number(w.readings[0]) * size
	if k.Kind == Number && (number != math.Trunc(number) || number > float64(k.Max)) ||
		k.Kind == Figure && number > k.High {
		return parts, nil
	}
	return nil, &ValueError{
		Field: string(k.ID), Given: shortened(chunk), Open: true,
		Allowed: fmt.Sprintf("%s, which is one number, or '%s', which is a list", w.spelled(w.readings[0]),
			strings.Join(parts, " ")),
	}
}

// inTokens reports whether a unit is that of a global batch in tokens.
func inTokens(unit string) bool { return strings.HasSuffix(strings.TrimSuffix(unit, "ens"), "tok") }

// sizeOf returns what a unit behind a number of the knob multiplies by.
func (k *Knob) sizeOf(unit string) (float64, bool) {
	if k.Kind == Figure {
		return k.unit(unit)
	}
	return binaryUnit(unit)
}

// partOfNumber is the *ValueError of a list in which numbers have commas or blanks in them.
func (k *Knob) partOfNumber(text string) *ValueError {
	plain := zeroLed.ReplaceAllString(text, "$1$2")
	return &ValueError{
		Field: string(k.ID), Given: shortened(text),
		Allowed: "a list of numbers without marks in them, such as " + shortened(plain),
	}
}
