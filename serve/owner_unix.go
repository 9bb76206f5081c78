//go:build unix

package serve

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the user that a file belongs to.
func ownerOf(info fs.FileInfo) (user int, known bool) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), true
	}
	return 0, false
}
