package steps_test

import (
	"testing"

	"meshscope/engine_test/draws"
)

func TestMain(m *testing.M) { draws.Main(m) }
