package launch

import (
	"meshscope/engine"
	"meshscope/engine/knob"
)

// megatronExport returns a setup as flags of Megatron-LM.
func megatronExport(s *engine.Setup) Document {
	d := Document{File: "megatron.sh", Entries: written(megatronFields(), s), Program: `pretrain_gpt.py "${ARGS[@]}"`, render: shellText}
	if s.TP > 1 || s.CP > 1 {
		d.Env = append(d.Env, Entry{Key: "CUDA_DEVICE_MAX_CONNECTIONS", Value: 1, Why: "asserted before Blackwell where tp or cp is over 1 (A:1443-1480)"})
	}
	return d
}

// megatronFields returns the flags of Megatron-LM.
func megatronFields() []field {
	return []field{
		number("tensor-model-parallel-size", knob.TP, func(s *engine.Setup) int { return s.TP }),
		number("pipeline-model-parallel-size", knob.PP, func(s *engine.Setup) int { return s.PP }),
		number("context-parallel-size", knob.CP, func(s *engine.Setup) int { return s.CP }),
		number("micro-batch-size", knob.MBS, func(s *engine.Setup) int { return s.MBS }),
		number("global-batch-size", knob.GBS, func(s *engine.Setup) int { return s.GBS }),
		number("seq-length", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
	}
}

// number returns the row of a whole number that every setup has.
func number(key string, id knob.ID, of func(*engine.Setup) int) field {
	return field{key: key, from: []string{string(id)}, write: func(s *engine.Setup) (any, bool) { return of(s), true }}
}
