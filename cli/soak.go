//go:build soak && unix

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// init lets a soak look inside: at each SIGUSR1 the program writes how many goroutines it has
// into the file that MESHSCOPE_SOAK_GOROUTINES names. Only a build with the tag soak does it.
func init() {
	file := os.Getenv("MESHSCOPE_SOAK_GOROUTINES")
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			if err := os.WriteFile(file, []byte(fmt.Sprint(runtime.NumGoroutine())), 0o600); err != nil {
				panic(err)
			}
		}
	}()
}
