package model

import (
	"strconv"
	"strings"
)

// ffnWidths checks the widths of dense MLPs, where they differ.
func (c *checker) ffnWidths(m *Model) {
	if m.FFNWidths == "" {
		return
	}
	widest := 0
	for word := range strings.SplitSeq(m.FFNWidths, ",") {
		n, err := strconv.Atoi(word)
		if widest = max(widest, n); err != nil || n < 1 || strconv.Itoa(n) != word {
			widest = -1
			break
		}
	}
	if widest != m.FFN || len(m.FFNWidths) > 8*MaxPattern {
		c.add("ffn_widths", quoted(m.FFNWidths),
			"at most %d bytes of whole numbers with commas, the widest of them ffn_hidden = %d",
			8*MaxPattern, m.FFN)
	}
}
