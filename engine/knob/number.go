package knob

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// written is a number as people write it: a sign, digits that may be grouped (2,048, 2_048, 2 048,
// 2.048.000), a decimal point or comma, an exponent, a unit.
type written struct {
	sign, exponent, unit string
	// readings are the digits as Go reads them. 32,768 has two: grouped digits, then a decimal number.
	readings []string
	point    bool // what has two readings is written with a point
}

// grammar of a written number: sign, digits with their marks, exponent, unit.
var writtenForm = regexp.MustCompile(
	`^([+-]?)([0-9.,_'’ ]*[0-9][.]?)((?:[eE][+-]?[0-9]+)?)( ?[A-Za-z%][A-Za-z%/ ]*)?$`,
)

// readWritten takes a number apart; false for what is none.
func readWritten(text string) (written, bool) {
	const most = 64 // signs; no number is longer
	text = strings.Map(func(r rune) rune {
		if r == '\u00a0' || r == '\u202f' || r == '\u2009' { // blanks that group digits in print
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
	parts := writtenForm.FindStringSubmatch(text)
	if len(text) > most || parts == nil {
		return written{}, false
	}
	w := written{sign: parts[1], exponent: parts[3], unit: strings.TrimSpace(parts[4])}
	w.readings, w.point = readings(parts[2])
	return w, len(w.readings) > 0
}

// groups of three digits after one to three, with a mark between them.
var groupedForm = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:([,._'’ ])[0-9]{3})+$`)

// isGrouped reports whether digits are grouped by one mark.
func isGrouped(digits string) bool {
	found := groupedForm.FindStringSubmatch(digits)
	return found != nil && strings.Trim(digits, "0123456789"+found[1]) == ""
}

// plainForm is a number without marks but a decimal point.
var plainForm = regexp.MustCompile(`^[0-9]*(?:\.[0-9]*)?$`)

// readings returns what digits with marks can mean: nothing, one number, or the grouped one and the
// decimal one. point tells that a point is the mark of the two.
func readings(digits string) (values []string, point bool) {
	if plainForm.MatchString(digits) && !isGrouped(digits) {
		return []string{digits}, false
	}
	bare := strings.NewReplacer("_", "", ",", "", ".", "", "'", "", "’", "", " ", "").Replace
	if isGrouped(digits) {
		at := strings.IndexAny(digits, ",.")
		if at < 0 || strings.Count(digits, digits[at:at+1]) > 1 {
			return []string{bare(digits)}, false
		}
		return []string{bare(digits), digits[:at] + "." + digits[at+1:]}, digits[at] == '.'
	}
	at := strings.LastIndexAny(digits, ".,") // a decimal mark
	if at < 0 {
		return nil, false
	}
	whole, rest := digits[:at], digits[at+1:]
	if strings.Trim(rest, "0123456789") != "" || rest == "" || strings.Contains(whole, digits[at:at+1]) {
		return nil, false
	}
	if strings.Trim(whole, "0123456789") == "" && whole != "" || isGrouped(whole) {
		return []string{bare(whole) + "." + rest}, false
	}
	return nil, false
}

// meant returns the readings that count. Of a whole number a comma groups digits, of another one a point
// is the program's own decimal mark, but before a last 0 (15.000), which decimal numbers are rarely written
// with; the reverse of both is open.
func (w *written) meant(whole bool) []string {
	switch {
	case len(w.readings) > 1 && whole && !w.point:
		return w.readings[:1]
	case len(w.readings) > 1 && !whole && w.point && !strings.HasSuffix(w.readings[1], "0"):
		return w.readings[1:]
	}
	return w.readings
}

// decimalComma reports whether a reading has the comma of a text as its decimal mark: 4,0 is no whole number.
func decimalComma(text, reading string) bool {
	return strings.Contains(reading, ".") && strings.LastIndex(text, ",") > strings.LastIndex(text, ".")
}

// number returns a reading as a float; one beyond all floats is infinite.
func (w *written) number(reading string) float64 {
	v, _ := strconv.ParseFloat(w.sign+reading+w.exponent, 64)
	return v
}

// spelled writes a reading without marks that can be misread, with its unit.
func (w *written) spelled(reading string) string {
	if strings.Contains(reading, ".") {
		reading = strings.TrimRight(strings.TrimRight(reading, "0"), ".")
	}
	return w.sign + reading + w.exponent + w.unit
}

// twoReadings is the *ValueError of a number that can mean two; whole says that only the first is
// a whole number, as it has to be.
func (w *written) twoReadings(field, given string, whole bool) *ValueError {
	mark := "comma"
	if w.point {
		mark = "point"
	}
	first, second := w.spelled(w.readings[0]), w.spelled(w.readings[1])
	if whole {
		return &ValueError{
			Field: field, Given: given,
			Allowed: fmt.Sprintf("%s if the %s groups digits, %.0f if %s is rounded", first, mark,
				w.number(w.readings[1]), second),
			Open: true,
		}
	}
	return &ValueError{
		Field: field, Given: given,
		Allowed: fmt.Sprintf("%s if the %s groups digits, %s if it is a decimal %s", first, mark, second,
			mark), Open: true,
	}
}

// Plain returns a number that a person typed in the form that strconv reads, with what follows it: a
// comma groups digits where it can, and a point is a decimal one. False for what is no number.
func Plain(text string) (digits, unit string, ok bool) {
	w, ok := readWritten(text)
	if !ok {
		return "", "", false
	}
	reading := w.readings[0]
	if w.point {
		reading = w.readings[1]
	}
	return w.sign + reading + w.exponent, w.unit, true
}

// ReadDecimal reads a decimal number without a unit. What can mean two numbers is a *ValueError with
// both; ok is false for what is no number.
func ReadDecimal(field, text string) (v float64, ok bool, err error) {
	w, ok := readWritten(text)
	if !ok || w.unit != "" {
		return 0, false, nil
	}
	if meant := w.meant(false); len(meant) > 1 {
		return 0, true, w.twoReadings(field, text, false)
	}
	return w.number(w.meant(false)[0]), true, nil
}

// ReadWhole reads a whole number without a unit, see ReadDecimal.
func ReadWhole(field, text string) (n int64, ok bool, err error) {
	w, ok := readWritten(text)
	if !ok || w.unit != "" {
		return 0, false, nil
	}
	if meant := w.meant(true); len(meant) > 1 {
		return 0, true, w.twoReadings(field, text, w.number(meant[1]) != math.Trunc(w.number(meant[1])))
	}
	reading := w.meant(true)[0]
	v := w.number(reading)
	return int64(v), v == math.Trunc(v) && math.Abs(v) <= 1<<53 && !decimalComma(text, reading), nil
}
