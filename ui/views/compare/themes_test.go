package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/themes"
)

// TestFrameThemes: two setups and each method alone in every theme, for terminals
// with 256 colours, with 16 and with none.
func TestFrameThemes(t *testing.T) {
	for _, name := range themes.Names() {
		for depth, profile := range map[string]colorprofile.Profile{"256": colorprofile.ANSI256, "16": colorprofile.ANSI, "none": colorprofile.ASCII} {
			for _, size := range [][2]int{{80, 24}, {120, 36}} {
				for state, reach := range map[string][]string{"pair": {"down"}, "alone": {"v", "down"}} {
					if state != "pair" && depth == "none" {
						continue // as the frames without colour are
					}
					t.Run(fmt.Sprintf("%s/%dx%d-%s-%s", name, size[0], size[1], state, depth), func(t *testing.T) {
						in := input(t, profile, true)
						p, err := themes.Load(name)
						if err != nil {
							t.Fatal(err)
						}
						in.Theme = p.Resolve(profile)
						v := prepared(t, &in)
						v.press(&in, reach...)
						golden.RequireEqual(t, strings.Join(v.Render(in, size[0], size[1]-4), "\n")+"\n")
					})
				}
			}
		}
	}
}
