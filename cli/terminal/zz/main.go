package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"meshscope/cli/terminal"
)

func main() {
	t, err := terminal.Start(context.Background(), terminal.Options{Columns: 160, Rows: 50, Env: os.Args[2:]}, os.Args[1])
	if err != nil {
		panic(err)
	}
	t.WaitFor("x", func(s string) bool { return len(s) > 3000 })
	t.Settle(200 * time.Millisecond)
	for i := 0; i < 14; i++ {
		for _, k := range []string{terminal.Right, terminal.Left} {
			n := len(t.Raw())
			t.Type(k)
			t.Settle(150 * time.Millisecond)
			fmt.Print(len(t.Raw())-n, " ")
			if i == 0 && len(os.Args) > 2 && os.Args[2] == "D=1" {
				fmt.Printf("%q\n", t.Raw()[n:])
			}
		}
		n := len(t.Raw())
		t.Type(terminal.Down)
		t.Settle(150 * time.Millisecond)
		fmt.Println("down", len(t.Raw())-n)
	}
	t.Type("q")
	fmt.Println(t.Wait())
}
