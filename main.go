// Meshscope explores how training a transformer is cut over GPUs.
package main

import "meshscope/cli"

func main() { cli.Main() }
