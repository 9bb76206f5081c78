package presets

import "io/fs"

// BuiltInFiles are the files built into the program, for the tests that load
// them afresh.
func BuiltInFiles() fs.FS { return files }

// Fresh is a library that has parsed nothing yet.
func Fresh() *Library { return newLibrary(files, nil) }
