package cli

import (
	"crypto/sha256"
	"fmt"

	"meshscope/presets/measured"
)

// once returns the runs of a file, or none and says so where a file with the same text was read.
func (f *calibrateFlags) once(runs []measured.Run, short string, sum []byte,
	leave func(int, string),
) []measured.Run {
	text := [sha256.Size]byte(sum)
	if before, ok := f.read[text]; ok && len(runs) > 0 {
		leave(0, "the same text as "+before+", which counts once")
		return nil
	}
	if f.read == nil {
		f.read = map[[sha256.Size]byte]string{}
	}
	f.read[text] = short
	return runs
}

// oneLauncher refuses logs of several launchers: constants that are fitted to both are those of
// neither.
func oneLauncher(runs []measured.Run) error {
	first := ""
	for i := range runs {
		switch l := runs[i].Launcher; {
		case first == "":
			first = l
		case l != "" && l != first:
			return &usageError{fmt.Sprintf("logs of %s and of %s (%s): steps of one cannot tell the "+
				"constants of the other; calibrate each alone", first, l, runs[i].Name)}
		}
	}
	return nil
}
