package cli

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropCode returns to the system the pages of the program's code that are in memory: a start runs through most of
// it once. What is needed again is mapped again, from the page cache.
func dropCode() {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		fields := strings.Fields(string(line)) // address, permissions, offset, device, inode, file
		const code = "r-xp"
		if len(fields) != 6 || fields[1] != code || fields[5] != name {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, first := strconv.ParseUint(from, 16, 64)
		end, second := strconv.ParseUint(to, 16, 64)
		if first == nil && second == nil {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED)
		}
	}
}
