package cli

import (
	"errors"
	"slices"
	"strings"

	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// setupsOfFigures are setups whose figures have between them every word that the name of a figure can have. A
// test draws others.
func setupsOfFigures() []string {
	return []string{
		"model=llama3.1-8b gpus=8 tp=2 pp=2 cp=2 zero=0 schedule=zb-h1 tokens=1T price=2 power=1000",
		"model=deepseek-v2-lite gpus=16 tp=2 pp=1 cp=2 ep=2 etp=2 zero=2 offload=optimizer",
		"model=deepseek-v3 gpus=64 tp=2 pp=2 ep=8 zero=3 mtp=on recompute=full precision=fp8",
		"model=deepseek-v3 gpus=64 tp=2 pp=2 ep=8 recompute=modules:norm,mla-up,act,moe-act,shared",
		"model=arctic-480b gpus=64 ep=8 recompute=modules:norm,act,moe-act",
		"model=gpt-oss-20b gpus=16 ep=2 cp=2 zero=1 offload-layers=2",
		"model=mixtral-8x7b gpus=8 tp=2 ep=2 etp=1 sp=off zero=0",
		"model=mixtral-8x7b gpus=8 calibration=textbook recompute=selective",
		"model=deepseek-v3 gpus=64 pp=2 ep=8 zero=1 calibration=nanotron",
		"model=deepseek-v3 gpus=64 pp=2 ep=8 zero=1 calibration=megatron-2022",
		"model=minimax-m1 gpus=64 tp=2 cp=2 ep=8 zero=1",
		"model=glm-5.2 gpus=64 tp=2 ep=8 zero=1",
		"model=deepseek-v4-flash gpus=64 tp=2 ep=8 zero=1",
		"model=kimi-linear-48b-a3b gpus=16 tp=2 ep=4 zero=1",
		"model=lfm2-8b-a1b gpus=8 ep=4 zero=1",
		"model=bloom-176b gpus=64 tp=8 pp=4 zero=1",
		"model=qwen3-next-80b-a3b gpus=16 tp=2 cp=2 ep=4 zero=1",
		"model=qwen3.5-27b gpus=8 tp=2 zero=1",
		"model=nemotron3-nano-30b-a3b gpus=16 tp=2 cp=2 ep=4 zero=1",
		"model=nemotron-nano-9b-v2 gpus=8 tp=2 zero=1",
		"model=granite-4.0-h-tiny gpus=8 ep=4 zero=1",
		"model=gemma2-9b gpus=8 calibration=torchtitan recompute=selective zero=2",
		"model=gemma2-9b gpus=8 calibration=torchtitan pp=2 schedule=dualpipe zero=2",
		"model=gemma2-9b gpus=8 pp=2 schedule=interleaved vpp=3 calibration=megatron-2021 zero=1",
	}
}

// bookOf explains a setup that is written as the ones of setupsOfFigures.
func bookOf(line string) (*explain.Book, error) {
	var d setupdoc.Document
	for item := range strings.FieldsSeq(line) {
		if err := d.Assign(item); err != nil {
			return nil, err
		}
	}
	s, err := d.Setup(presets.Default())
	if err != nil {
		return nil, err
	}
	book, ok := explain.Of(s)
	if !ok {
		return nil, errors.New("illegal: " + line)
	}
	return book, nil
}

// foreignFigure returns the error of a name with a word that no figure of any setup has in its name; nil
// where every word is known, which does not make it a figure.
func foreignFigure(id string) error {
	left, ids := partsOf(id), []string(nil)
	meet := func(figure string) {
		known := partsOf(figure)
		left = slices.DeleteFunc(left, func(part string) bool { return slices.Contains(known, part) })
	}
	meet(strings.TrimSuffix(figures.FullestRank, "."))
	for _, w := range figures.Words() {
		meet(w.ID)
	}
	for _, line := range setupsOfFigures() {
		if len(left) == 0 {
			return nil
		}
		book, err := bookOf(line)
		if err != nil {
			return err
		}
		for _, figure := range book.IDs() {
			meet(figure)
			ids = append(ids, figure)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(ids)
	return unknownFigure(slices.Compact(ids), id)
}

// partsOf returns the words between the dots of a figure's name; numbers, of ranks and stages, are none.
func partsOf(id string) []string {
	return slices.DeleteFunc(strings.Split(id, "."),
		func(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" })
}
