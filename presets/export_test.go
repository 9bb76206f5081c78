package presets

import "io/fs"

// BuiltInFiles returns the files built into the program, for the tests that load
// them afresh.
func BuiltInFiles() fs.FS { return files }

// Fresh returns a library that has parsed nothing yet.
func Fresh() *Library { return newLibrary(files, nil) }
