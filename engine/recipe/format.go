package recipe

import "math"

// Format is a binary floating-point format: a sign, Exponent and Fraction bits, and what its
// largest exponent is for.
type Format struct {
	Name               string
	Exponent, Fraction int
	Top                Top
	Block              int    // elements that share a scale of 8 bits; 0: none of its own
	Source             string // of the definition
}

// Top says what the codes with the largest exponent are.
type Top uint8

// Uses of the largest exponent.
const (
	Infinite Top = iota // infinities and NaN, as in IEEE 754
	OneNaN              // numbers, but for one NaN: e4m3
	Finite              // numbers: formats of 6 and 4 bits
)

// Formats returns the formats of training, widest first.
func Formats() []Format {
	const (
		ieee = "IEEE 754-2019"
		fp8  = "OCP 8-bit Floating Point Specification, revision 1.0"
		mx   = "OCP Microscaling Formats Specification, version 1.0"
	)
	return []Format{
		{"fp32", 8, 23, Infinite, 0, ieee},
		{
			"tf32", 8, 10, Infinite, 0,
			"NVIDIA A100 whitepaper: fp32's range with fp16's fraction, in products",
		},
		{"bf16", 8, 7, Infinite, 0, "bfloat16: the upper half of fp32"},
		{"fp16", 5, 10, Infinite, 0, ieee},
		{"fp8 e4m3", 4, 3, OneNaN, 0, fp8},
		{"fp8 e5m2", 5, 2, Infinite, 0, fp8},
		{"mxfp8 e4m3", 4, 3, OneNaN, 32, mx},
		{"mxfp6 e3m2", 3, 2, Finite, 32, mx},
		{"mxfp6 e2m3", 2, 3, Finite, 32, mx},
		{"mxfp4 e2m1", 2, 1, Finite, 32, mx},
		{"nvfp4 e2m1", 2, 1, Finite, 16, "arXiv 2509.25149, section 2"},
	}
}

// Bits returns the bits of an element, its part of the scale included.
func (f *Format) Bits() float64 {
	bits := float64(1 + f.Exponent + f.Fraction)
	if f.Block > 0 {
		bits += 8 / float64(f.Block)
	}
	return bits
}

// bias is what the exponent's code is above the exponent.
func (f *Format) bias() int { return 1<<(f.Exponent-1) - 1 }

// Max returns the largest number, before a scale.
func (f *Format) Max() float64 {
	top := 1<<f.Exponent - 1 - f.bias()
	fraction := 2 - math.Ldexp(1, -f.Fraction)
	switch f.Top {
	case Infinite:
		top--
	case OneNaN:
		fraction -= math.Ldexp(1, -f.Fraction)
	case Finite:
	}
	return math.Ldexp(fraction, top)
}

// Min returns the smallest positive number with all its digits, before a scale.
func (f *Format) Min() float64 { return math.Ldexp(1, 1-f.bias()) }

// Least returns the smallest positive number, before a scale.
func (f *Format) Least() float64 { return math.Ldexp(1, 1-f.bias()-f.Fraction) }

// Step returns the distance from 1 to the next number.
func (f *Format) Step() float64 { return math.Ldexp(1, -f.Fraction) }
