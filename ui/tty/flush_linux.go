package tty

import "golang.org/x/sys/unix"

const getModes = unix.TCGETS // of a terminal

// dropOutput drops what was written to a terminal and not read. The kernel wakes who waits to write more only
// when output is stopped and started.
func dropOutput(fd int) {
	const stop, start = 0, 1 // TCOOFF and TCOON of <termios.h>
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH)
	_ = unix.IoctlSetInt(fd, unix.TCXONC, stop)
	_ = unix.IoctlSetInt(fd, unix.TCXONC, start)
}
