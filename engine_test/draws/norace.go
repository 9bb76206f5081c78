//go:build !race

package draws

// Race says whether these tests are built with the race detector.
const Race = false
