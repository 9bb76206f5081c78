//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tty

import "golang.org/x/sys/unix"

const getModes = unix.TIOCGETA // of a terminal

// dropOutput drops what was written to a terminal and not read.
func dropOutput(fd int) {
	const output = 2 // FWRITE of <sys/file.h>
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, output)
}
