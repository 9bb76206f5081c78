package main

// generated is the package that the rewritten engine calls: each function does what its operator
// does, unless the environment variable MUTANT names one of its ways. MUTANT_TRACE names a file that
// gets the numbers of the sites that were reached.
const generated = `// Package mutant is made by engine_test/mutate.
package mutant

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	on, _ = strconv.Atoi(os.Getenv("MUTANT"))
	trace = os.Getenv("MUTANT_TRACE")
	mu    sync.Mutex
	seen  = map[int]bool{}
	file  *os.File
)

func is(id int) bool {
	if trace != "" {
		reach(id)
	}
	return on == id
}

func reach(id int) {
	mu.Lock()
	defer mu.Unlock()
	if seen[id] {
		return
	}
	seen[id] = true
	if file == nil {
		var err error
		if file, err = os.OpenFile(trace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			panic(err)
		}
	}
	fmt.Fprintln(file, id)
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type number interface{ integer | ~float32 | ~float64 }

func pick[T any](id int, is1, plain T) T {
	if is(id) {
		return is1
	}
	return plain
}

func Add[T number](id int, a, b T) T { return pick(id, a-b, a+b) }
func Sub[T number](id int, a, b T) T { return pick(id, a+b, a-b) }

func Mul[T number](id int, a, b T) T {
	if is(id) {
		return a / b
	}
	return a * b
}

func Quo[T number](id int, a, b T) T {
	if is(id) {
		return a * b
	}
	return a / b
}

func Rem[T integer](id int, a, b T) T {
	if is(id) {
		return a * b
	}
	return a % b
}

func two(id int, plain, first, second bool) bool {
	switch {
	case is(id):
		return first
	case on == id+1:
		return second
	}
	return plain
}

func Lss[T cmp.Ordered](id int, a, b T) bool { return two(id, a < b, a <= b, a >= b) }
func Leq[T cmp.Ordered](id int, a, b T) bool { return two(id, a <= b, a < b, a > b) }
func Gtr[T cmp.Ordered](id int, a, b T) bool { return two(id, a > b, a >= b, a <= b) }
func Geq[T cmp.Ordered](id int, a, b T) bool { return two(id, a >= b, a > b, a < b) }

func Eql[T comparable](id int, a, b T) bool { return (a == b) != is(id) }
func Neq[T comparable](id int, a, b T) bool { return (a != b) != is(id) }

func Neg[T number](id int, a T) T { return pick(id, a, -a) }
func Inc[T number](id int, a T) T { return pick(id, a-1, a+1) }
func Dec[T number](id int, a T) T { return pick(id, a+1, a-1) }
`
