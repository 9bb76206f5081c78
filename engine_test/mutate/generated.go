package main

// generated is the package that the rewritten engine calls: each function does what its operator
// does, unless the environment variable MUTANT names one of its ways. MUTANT_TRACE names a file that
// gets a line for each site that was reached, and one for each mutant whose value would have been
// another one there: a test in which none differs cannot tell the mutant from the original.
const generated = `// Package mutant is made by engine_test/mutate.
package mutant

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var (
	on, _   = strconv.Atoi(os.Getenv("MUTANT"))
	trace   = os.Getenv("MUTANT_TRACE")
	tracing = trace != ""
	mu      sync.Mutex
	file    *os.File
	reached [%[1]d]atomic.Bool
	other   [%[1]d]atomic.Bool
)

// note writes that a site was reached, and that a mutant's value is another one.
func note(site, id int, differs bool) {
	if !reached[site].Load() && !reached[site].Swap(true) {
		say("reached", site)
	}
	if differs && !other[id].Load() && !other[id].Swap(true) {
		say("differs", id)
	}
}

func say(what string, id int) {
	mu.Lock()
	defer mu.Unlock()
	if file == nil {
		var err error
		if file, err = os.OpenFile(trace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			panic(err)
		}
	}
	fmt.Fprintln(file, what, id)
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type number interface{ integer | ~float32 | ~float64 }

func pick[T comparable](id int, mutated, plain T) T {
	if tracing {
		note(id, id, mutated != plain)
	}
	if on == id {
		return mutated
	}
	return plain
}

func Add[T number](id int, a, b T) T { return pick(id, a-b, a+b) }
func Sub[T number](id int, a, b T) T { return pick(id, a+b, a-b) }

func Mul[T number](id int, a, b T) T {
	if tracing {
		note(id, id, b == 0 || a/b != a*b)
	}
	if on == id {
		return a / b
	}
	return a * b
}

func Quo[T number](id int, a, b T) T {
	if tracing {
		note(id, id, b == 0 || a/b != a*b)
	}
	if on == id {
		return a * b
	}
	return a / b
}

func Rem[T integer](id int, a, b T) T {
	if tracing {
		note(id, id, b == 0 || a%%b != a*b)
	}
	if on == id {
		return a * b
	}
	return a %% b
}

func two(id int, plain, first, second bool) bool {
	if tracing {
		note(id, id, first != plain)
		note(id, id+1, second != plain)
	}
	switch on {
	case id:
		return first
	case id + 1:
		return second
	}
	return plain
}

func Lss[T cmp.Ordered](id int, a, b T) bool { return two(id, a < b, a <= b, a >= b) }
func Leq[T cmp.Ordered](id int, a, b T) bool { return two(id, a <= b, a < b, a > b) }
func Gtr[T cmp.Ordered](id int, a, b T) bool { return two(id, a > b, a >= b, a <= b) }
func Geq[T cmp.Ordered](id int, a, b T) bool { return two(id, a >= b, a > b, a < b) }

func Eql[T comparable](id int, a, b T) bool { return pick(id, a != b, a == b) }
func Neq[T comparable](id int, a, b T) bool { return pick(id, a == b, a != b) }

func Neg[T number](id int, a T) T { return pick(id, a, -a) }
func Inc[T number](id int, a T) T { return pick(id, a-1, a+1) }
func Dec[T number](id int, a T) T { return pick(id, a+1, a-1) }
`
