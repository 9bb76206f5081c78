package report

import (
	"fmt"
	"math"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/cards"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Card is what the glossary shows of a setup next to a word.
type Card struct {
	Table
	Says string // of the table, in a sentence
	Bars bool   // the last column is drawn too
}

// CardNames are the cards that there are, as the glossary's file names them.
func CardNames() []string {
	return []string{"formats", "splits", "roofline", "memories", "load", "kinds"}
}

// NewCard returns a card of a setup; false where the setup has nothing to show on it.
func NewCard(name string, s *engine.Setup) (Card, bool) {
	switch name {
	case "formats":
		return formatsCard(), true
	case "splits":
		return splitsCard(s)
	case "roofline":
		return rooflineCard(s)
	case "memories":
		return memoriesCard(s), true
	case "load":
		return loadCard(s)
	case "kinds":
		return kindsCard(s)
	}
	return Card{}, false
}

// brief writes a number of any size with three digits.
func brief(v float64) string {
	if v == 0 || v >= 0.01 && v < 1e5 {
		return figure.Digits(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func formatsCard() Card {
	c := Card{
		Table: Table{Title: "number formats", Head: []string{
			"format", "bits", "exponent", "fraction",
			"largest", "smallest", "step",
		}},
		Says: "bits: with the part of a shared scale; smallest: with all its digits; step: from 1 to the " +
			"next; what has a scale is multiplied by it",
	}
	for _, f := range recipe.Formats() {
		c.add(Word(f.Name), Word(figure.Trim(f.Bits())), Word(strconv.Itoa(f.Exponent)),
			Word(strconv.Itoa(f.Fraction)),
			Word(brief(f.Max())), Word(brief(f.Min())), Word("2^-"+strconv.Itoa(f.Fraction)))
	}
	return c
}

func splitsCard(s *engine.Setup) (Card, bool) {
	c := Card{
		Table: Table{Title: "splits", Head: []string{"matrix", "cut by", "on a GPU", "forward", "backward"}},
		Says: "f stands in front of a column split, g behind a row split: one pair of splits needs one f " +
			"and one g",
	}
	for _, p := range cards.Splits(s) {
		by := "rows g"
		if p.Columns {
			by = "columns f"
		}
		c.add(Word(p.Matrix), Word(by), Word(figure.Comma(p.OnRows)+"x"+figure.Comma(p.OnCols)),
			Word(p.Forward), Word(p.Backward))
	}
	if s.TP < 2 {
		c.Says = "TP is 1: no matrix is cut and nothing is sent; " + c.Says
	}
	return c, len(c.Rows) > 0
}

func rooflineCard(s *engine.Setup) (Card, bool) {
	parts, ok := cards.Layer(s)
	if !ok || len(parts) == 0 {
		return Card{}, false
	}
	gpu := &s.Cluster.GPU
	c := Card{
		Table: Table{Title: "roofline", Head: []string{"forward of a layer", "time", "FLOP/byte", "bound"}},
		Says: fmt.Sprintf("memory stops to bind at the second number, at the rates that are reached; "+
			"nominal of %s: %s", gpu.Name,
			figure.Three(float64(gpu.Peak(s.Precision))/float64(gpu.MemoryBandwidth))),
	}
	for _, p := range parts {
		by, balance := "memory", "few"
		switch {
		case p.Tiles:
			by = "tiles"
		case p.Arithmetic:
			by = "compute"
		}
		switch {
		case p.FLOPs > 0 && p.Bytes > 0:
			balance = fmt.Sprintf("%s of %s", figure.Three(float64(p.FLOPs)/float64(p.Bytes)),
				figure.Three(p.Balance))
		case p.Arithmetic:
			balance = "on chip"
		}
		c.add(Word(p.Name), Figure(record.Seconds, float64(p.Seconds)), Word(balance), Word(by))
	}
	return c, true
}

func memoriesCard(s *engine.Setup) Card {
	c := Card{
		Table: Table{
			Title: "memories and links",
			Head:  []string{"from", "holds", "per GPU", "FLOP/byte to keep busy"},
		},
		Says: "nearer still are registers, shared memory and caches on the chip: flash attention keeps " +
			"scores there",
	}
	for _, l := range cards.Hierarchy(s) {
		holds := ""
		if l.Holds > 0 {
			holds = figure.GiB(l.Holds) + " GiB"
		}
		c.add(Word(l.Name), Word(holds), Word(figure.Traffic(units.Bytes(l.Bandwidth))+"/s"),
			Word(figure.Comma(int(math.Round(l.Balance)))))
	}
	return c
}

func loadCard(s *engine.Setup) (Card, bool) {
	const most = 8
	all := cards.Loads(s)
	if len(all) == 0 {
		return Card{}, false
	}
	c := Card{
		Table: Table{Title: "expert load", Head: []string{"expert rank", "tokens"}}, Bars: true,
		Says: fmt.Sprintf("imbalance %d %%: all wait for the busiest rank; the others share the rest",
			max(s.Imbalance, recipe.EvenLoad)),
	}
	for i, l := range all[:min(len(all), most)] {
		c.add(Word(fmt.Sprintf("%d, %s", i, l.Name)), Figure(record.Count, math.Round(l.Tokens)))
	}
	if n := len(all) - most; n > 0 {
		c.Says += fmt.Sprintf("; %d more as the last one", n)
	}
	return c, true
}

func kindsCard(s *engine.Setup) (Card, bool) {
	c := Card{
		Table: Table{Title: "kinds of layers", Head: []string{"kind", "layers", "forward", "saves", "state"}},
		Says:  "a GPU's part of one layer and micro-batch; state: elements that a sequence carries on",
	}
	var e engine.Evaluator
	kinds, ok := e.Layers(*s)
	layers := model.Lay(&s.Model, nil).Layers
	for i := range kinds {
		sum, state := kinds[i].Whole(), "none"
		if scan := layers[i].Scanned(); scan != nil {
			state = figure.Comma(int(scan.Scan.State.V))
		}
		c.add(Word(kinds[i].Name), Word(strconv.Itoa(kinds[i].Layers)),
			Figure(record.Seconds, float64(sum.Forward)), Memory(sum.Activations), Word(state))
	}
	return c, ok
}
