// Package units gives each physical dimension of the engine its own type, so
// that a time is never added to a size by accident. All are float64: the
// engine's figures are estimates, and a count of bytes beyond 2^53 is not one.
package units

import "strconv"

// Bytes is an amount of memory or of traffic.
type Bytes float64

// FLOPs is a count of floating-point operations (a multiply-add counts two).
type FLOPs float64

// Seconds is a duration.
type Seconds float64

// BytesPerSecond is a bandwidth, per GPU and per direction for links.
type BytesPerSecond float64

// FLOPsPerSecond is a rate of computation; peaks are dense, never sparse.
type FLOPsPerSecond float64

// Binary units are for memory, decimal ones for traffic and bandwidth
// (the convention of every GPU datasheet and of NCCL).
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30

	KB Bytes = 1e3
	MB Bytes = 1e6
	GB Bytes = 1e9

	GBps   BytesPerSecond = 1e9
	TFLOPS FLOPsPerSecond = 1e12

	Microsecond Seconds = 1e-6
	Millisecond Seconds = 1e-3
)

// Difference returns a - b, and 0 where that is no more than what rounding leaves of
// two long sums of the same parts, one in 10^12.
func Difference[T ~float64](a, b T) T {
	const rounding = 1e-12
	d := a - b
	if most := max(a, -a, b, -b); d < rounding*most && -d < rounding*most {
		return 0
	}
	return d
}

// GiB converts to gibibytes, the unit of GPU memory.
func (b Bytes) GiB() float64 { return float64(b / GiB) }

// GB converts to decimal gigabytes, the unit of traffic.
func (b Bytes) GB() float64 { return float64(b / GB) }

// Over returns the time that b takes at rate r; a missing rate takes no time, so
// callers check that a link exists before they use it.
func (b Bytes) Over(r BytesPerSecond) Seconds {
	if r <= 0 {
		return 0
	}
	return Seconds(float64(b) / float64(r))
}

// Over returns the time that f takes at rate r; see Bytes.Over.
func (f FLOPs) Over(r FLOPsPerSecond) Seconds {
	if r <= 0 {
		return 0
	}
	return Seconds(float64(f) / float64(r))
}

// Plain writes a number with at most so many significant digits and no exponent.
func Plain(v float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Plural returns a count with its noun, as messages of the engine write it: 1 GPU, 64 GPUs.
func Plural(n int, noun string) string { return PluralAs(strconv.Itoa, n, noun) }

// PluralAs is Plural with a count that number writes.
func PluralAs(number func(int) string, n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}
