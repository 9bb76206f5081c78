package report

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/report/figure"
)

// publishedWords lists which of batch, precision and dispatcher a setup has from the nearest published run:
// "batch 15,360 x 4,096, fp8:deepseek, deepep: DeepSeek-V3 report on 2,048 H800 SXM5"; empty where
// its batch is another.
func publishedWords(s *engine.Setup) string {
	_, r := s.PublishedTokens(s.GPUs)
	if !s.NearPublished() {
		return ""
	}
	batch := fmt.Sprintf("batch %s x %s", figure.Comma(r.GBS), figure.Comma(r.Seq))
	if s.GBS != r.GBS || s.Seq != r.Seq {
		batch = fmt.Sprintf("batch near %s x %s", figure.Comma(r.GBS), figure.Comma(r.Seq))
	}
	words := []string{batch}
	if s.Precision == r.Precision {
		words = append(words, string(r.Precision))
	}
	if d := string(r.Dispatcher); d != "" &&
		strings.HasPrefix(softwareWords(s), string(knob.Dispatcher)+" "+d) {
		words = append(words, d)
	}
	return strings.Join(words, ", ") + ": " + r.Run(figure.Comma)
}

// PriceWords says what a step takes with another value of what was assumed: "with tp-overlap async 18.0 s",
// or, where that is slower, "dp-overlap on assumed (off: 1.81 s)". Formats of numbers need no knob.
func PriceWords(list []advise.Price) string { return strings.Join(EachPrice(list), "; ") }

// EachPrice returns the words of each price.
func EachPrice(list []advise.Price) []string {
	words := make([]string, len(list))
	for i, p := range list {
		of, step := string(p.Knob)+" ", figure.Seconds(p.Step)
		if p.Knob == knob.Precision {
			of = ""
		}
		if words[i] = "with " + of + p.Word + " " + step; p.Slow {
			words[i] = fmt.Sprintf("%s%s assumed (%s: %s)", of, p.Now, p.Word, step)
		}
	}
	return words
}

// StarvedWords says of a batch that leaves a pipeline few micro-batches what the nearest published run
// has; empty where it has no more tokens.
func StarvedWords(s *engine.Setup) string {
	r := s.Published()
	if r == nil || s.MicroBatches >= 2*s.PP || float64(r.Tokens()) < 1.5*s.Tokens() {
		return ""
	}
	return fmt.Sprintf("%s a pipeline of %s; published: %s of %s (%s)",
		figure.Plural(s.MicroBatches, "micro-batch"),
		figure.Plural(s.PP, "rank"), figure.Plural(r.GBS, "sequence"), figure.Comma(r.Seq),
		r.Run(figure.Comma))
}
