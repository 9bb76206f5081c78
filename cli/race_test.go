//go:build race

package cli_test

// raceDetector says whether these tests are built with the race detector.
const raceDetector = true
