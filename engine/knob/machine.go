package knob

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MachineWord is a flag and a key of setup documents for a figure of a cluster of one's own, in words that
// people have for it; --set takes the same figure as the program keeps it.
type MachineWord struct {
	Name  ID
	Field string // of the cluster, as a path
	Kind  string // of its value: rate or number
	Node  bool   // the rate of a node, which its GPUs share
	Help  string
}

// MachineWords lists them.
func MachineWords() []MachineWord {
	return []MachineWord{
		{Name: "gpus-per-node", Field: "gpus_per_node", Kind: "number", Help: "how many GPUs a node of your own cluster has"},
		{
			Name: "node-bandwidth", Field: "inter.bandwidth", Kind: "rate", Node: true,
			Help: "what the network of a node carries each way, shared by its GPUs, such as 100Gb/s or 12.5GB/s",
		},
		{
			Name: "gpu-bandwidth", Field: "inter.bandwidth", Kind: "rate",
			Help: "what the network carries each way for one GPU, such as 400Gb/s or 50GB/s",
		},
	}
}

// FindMachineWord returns the word of a name, with dashes or underscores.
func FindMachineWord(name string) (MachineWord, bool) {
	all := MachineWords()
	i := slices.IndexFunc(all, func(w MachineWord) bool { return string(w.Name) == strings.ReplaceAll(name, "_", "-") })
	if i < 0 {
		return MachineWord{}, false
	}
	return all[i], true
}

// Bounds of the rate of a network, in bytes per second.
const (
	minRate = 1e6
	maxRate = 1e16
)

// ParseRate reads 100Gb/s, 100 Gbit/s, 100Gbps or 12.5GB/s in bytes per second: a capital B is bytes, a small
// one bits. What it refuses names the field, what is allowed and, of a number without a unit, both readings.
func ParseRate(field, text string) (float64, error) {
	wrong := &ValueError{Field: field, Given: text, Allowed: "a rate with its unit, from 8Mb/s, such as 100Gb/s or 12.5GB/s (b is bits, B is bytes)"}
	w, ok := readWritten(text)
	if !ok {
		return 0, wrong
	}
	size, known := rateUnit(w.unit)
	meant := w.meant(false)
	switch {
	case !known && w.unit != "":
		return 0, wrong
	case len(meant) > 1:
		return 0, w.twoReadings(field, text, false)
	case w.unit == "" && w.exponent == "" && w.sign != "-":
		bare := w.spelled(meant[0])
		wrong.Open = true
		wrong.Allowed = fmt.Sprintf("%sGb/s, which is bits, or %sGB/s, which is bytes", bare, bare)
		return 0, wrong
	case w.unit == "" && w.sign != "-":
		wrong.Nearest = w.spelled(meant[0]) + "B/s"
		return 0, wrong
	case !known: // a minus without a unit
		return 0, wrong
	}
	v := w.number(meant[0]) * size
	if v < minRate && v > 0 {
		wrong.Nearest = "8Mb/s"
	}
	if v < minRate || v > maxRate {
		return 0, wrong
	}
	return v, nil
}

// rateUnit returns the bytes per second of a unit of rate: a prefix, bits or bytes, and per second.
func rateUnit(unit string) (float64, bool) {
	unit = strings.ReplaceAll(unit, " ", "")
	at := slices.IndexFunc([]string{"/s", "/sec", "/second", "ps"}, func(end string) bool { return strings.HasSuffix(unit, end) })
	if at < 0 {
		return 0, false
	}
	unit = strings.TrimSuffix(unit[:strings.LastIndexAny(unit, "/p")], "s") // of bits and bytes
	size := 1.0
	for _, bits := range []struct {
		words []string
		size  float64
	}{
		{[]string{"bit", "Bit", "b"}, 1. / 8},
		{[]string{"byte", "Byte", "B"}, 1},
	} {
		for _, word := range bits.words {
			prefix, ok := strings.CutSuffix(unit, word)
			if !ok {
				continue
			}
			switch strings.ToLower(prefix) {
			case "":
			case "k", "kilo":
				size = 1e3
			case "m", "mega":
				size = 1e6
			case "g", "giga":
				size = 1e9
			case "t", "tera":
				size = 1e12
			default:
				return 0, false
			}
			return size * bits.size, true
		}
	}
	return 0, false
}

// RateText writes a rate of a network as it is typed: 100Gb/s.
func RateText(bytesPerSecond float64) string {
	return strconv.FormatFloat(bytesPerSecond*8/1e9, 'g', 6, 64) + "Gb/s"
}
