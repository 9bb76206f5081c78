//go:build unix

package ui

import "golang.org/x/sys/unix"

// canSuspend says whether a shell waits that would bring the program back. As the
// first program of its session (ssh -t host meshscope, a terminal's own command)
// it has none: the kernel then drops the stop signal, and a program that waits to
// be continued would wait for ever.
func canSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}
