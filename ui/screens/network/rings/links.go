package rings

import (
	"fmt"
	"strings"

	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// speeds names the links next to the ring: those inside a node above, those between nodes below.
func (v *collectives) speeds(in *screen.Context, g *ring.Group, c *ring.Collective, top,
	bottom *widget.Line,
) {
	fill := map[bool]string{true: "─", false: "-"}[in.Glyphs.Unicode]
	fill2 := map[bool]string{true: "═", false: "="}[in.Glyphs.Unicode]
	near, far := g.Links(c.Op)
	for i, l := range []*widget.Line{top, bottom} {
		which, sign, where, paint := near, fill, "inside", themes.Muted
		if i == 1 {
			which, sign, where, paint = far, fill2, "between", themes.Warn
		}
		if which.Rate > 0 {
			text := fmt.Sprintf("%s %s %s/s", widget.Fill(sign, 2), where,
				figure.Traffic(units.Bytes(which.Rate)))
			short, _, _ := strings.Cut(which.Name, " + ") // NVLink 4 + NVSwitch
			for _, name := range []string{which.Name, short} {
				if widget.Width(text+", "+name)+2 <= l.Left() {
					text += ", " + name
					break
				}
			}
			l.Gap(2).Put(in.Paint(paint), in.Cut(text, l.Left()-2))
		}
	}
}
