package rings

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/themes"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestEightHues: in every theme with colours the eight GPUs of the ring look different, with 16 colours too.
func TestEightHues(t *testing.T) {
	for _, name := range themes.Names() {
		p, err := themes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, profile := range []colorprofile.Profile{
			colorprofile.TrueColor, colorprofile.ANSI256,
			colorprofile.ANSI,
		} {
			theme := p.Resolve(profile)
			if !theme.Colours {
				continue
			}
			seen := map[themes.Paint]int{}
			for rank := range 8 {
				paint := theme.Area(hue(theme, rank))
				if other, taken := seen[paint]; taken {
					t.Errorf("%s, %v: GPU %d looks like GPU %d", name, profile, rank, other)
				}
				seen[paint] = rank
			}
		}
	}
}

// TestPictureGrows: a larger window has larger blocks and the ring above the table, and a click on any line
// of a block takes it.
func TestPictureGrows(t *testing.T) {
	in := input(t, func(s *engine.Setup) { s.CP = 8 })
	v := New()[0].(*attention)
	for _, c := range []struct{ w, h, tall int }{{118, 30, 1}, {198, 54, 2}} {
		at := in.At(c.w, c.h)
		text := ansi.Strip(strings.Join(v.Render(at), "\n"))
		a := v.example(at)
		wide, tall := v.scale(at, &a)
		if tall != c.tall || !strings.Contains(text, "╭▸ 0  k0 k15 ─") &&
			!strings.Contains(text, "╭▸ 0  k0 k15   ") {
			t.Errorf("%dx%d: blocks of %d lines:\n%s", c.w, c.h, tall, text)
		}
		for part := range tall {
			if did, _ := v.Mouse(at, matrixLeft+3*wide+1, matrixTop+5*tall+part, "left"); !did || v.q != 5 ||
				v.k != 3 {
				t.Errorf("%dx%d: a click takes q%d x k%d", c.w, c.h, v.q, v.k)
			}
			v.q, v.k = 0, 0
		}
	}
}
