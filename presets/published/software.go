package published

import (
	"fmt"
	"slices"
)

// Software is what a source says of the software of a run that no knob says. A key that
// is left out is not stated.
type Software struct {
	// delayed or current: one scale per tensor; mxfp8
	FP8Scaling string `json:"fp8_scaling,omitempty"    toml:"fp8_scaling"`
	// tokens beyond an even share are dropped
	TokenDrop bool `json:"token_drop,omitempty"     toml:"token_drop"`
	// FSDP computes and reduces in bf16 throughout
	PureBF16 bool `json:"pure_bf16,omitempty"      toml:"pure_bf16"`
	Compile  bool `json:"compile,omitempty"        toml:"compile"` // torch.compile
}

// with returns the software of a group with what a run says of its own.
func (s Software) with(own *Software) Software {
	s.TokenDrop = s.TokenDrop || own.TokenDrop
	s.PureBF16 = s.PureBF16 || own.PureBF16
	s.Compile = s.Compile || own.Compile
	if own.FP8Scaling != "" {
		s.FP8Scaling = own.FP8Scaling
	}
	return s
}

func (s *Software) check() error {
	if allowed := []string{"delayed", "current", "mxfp8"}; s.FP8Scaling != "" &&
		!slices.Contains(allowed, s.FP8Scaling) {
		return fmt.Errorf("software.fp8_scaling: given %q, allowed is one of %v", s.FP8Scaling, allowed)
	}
	return nil
}
