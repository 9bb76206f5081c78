//go:build !linux

package cli

// dropCode does nothing here.
func dropCode() {}
