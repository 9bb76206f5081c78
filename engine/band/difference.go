package band

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Differences are the two ways in which a setup differs most from the nearest
// published runs.
type Differences [2]Difference

// Difference is one of them: what it is here, and a count or a name.
type Difference struct {
	Feature Feature
	Count   float64
	Name    string
}

// String says it in words: "256 GPUs", "CP 2 across domains".
func (d Difference) String() string {
	count, percent := strconv.FormatFloat(d.Count, 'f', -1, 64),
		strconv.FormatFloat(100*d.Count, 'f', 0, 64)+" %"
	degree := func(name string) string { return strings.TrimSpace(name + " " + count + " " + d.Name) }
	switch d.Feature {
	case Experts:
		if d.Count == 0 {
			return "dense model"
		}
		return count + " experts"
	case EP:
		return degree("EP")
	case TP:
		return degree("TP")
	case CP:
		return degree("CP")
	case Pipeline:
		return degree("PP")
	case ZeRO3:
		return degree("ZeRO")
	case GPU, Precision, Layers:
		return d.Name
	case Stack:
		return "stack " + d.Name
	case Release:
		return d.Name + " newer than every published run"
	case PCIe:
		return "links inside the node"
	case Recompute:
		return "recomputation"
	case GPUs:
		return plural(d.Count, "GPU")
	case MicroBatches:
		return plural(d.Count, "micro-batch")
	case Seq:
		return "sequences of " + count
	case MBS:
		return "micro-batches of " + plural(d.Count, "sequence")
	case Active:
		return strconv.FormatFloat(d.Count/1e9, 'g', 3, 64) + "B active parameters"
	case Wait:
		return percent + " of the step without compute"
	case Traffic:
		return "communication of " + percent + " of the step"
	case Load:
		return "imbalance " + count
	case Custom:
		return "a calibration of your own"
	case Changed:
		return "changed rates or links"
	default:
		return ""
	}
}

func plural(n float64, what string) string {
	text := strconv.FormatFloat(n, 'f', -1, 64) + " " + what
	switch {
	case n == 1:
		return text
	case strings.HasSuffix(what, "ch"):
		return text + "es"
	}
	return text + "s"
}

// Words lists the differences: "256 GPUs, CP 2 inside the domain"; empty: none.
func (d *Differences) Words() string {
	var list []string
	for i := range d {
		if words := d[i].String(); words != "" {
			list = append(list, words)
		}
	}
	return strings.Join(list, ", ")
}

// MarshalJSON writes the differences as a list of words.
func (d Differences) MarshalJSON() ([]byte, error) {
	list := make([]string, 0, len(d))
	for i := range d {
		if words := d[i].String(); words != "" {
			list = append(list, words)
		}
	}
	return json.Marshal(list)
}
