package themes

import (
	"image/color"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Share is how much of an area a fill has.
type Share struct {
	Fill  Fill
	Share float64
}

// Blends reports whether colours can be mixed: not with 16 of them or none.
func (t *Theme) Blends() bool {
	if !t.Colours {
		return false
	}
	_, basic := t.areas[Forward].colour.(ansi.BasicColor)
	return !basic
}

// Blend returns the paint of an area that several fills share: their colours mixed
// in linear light by their shares, with black or white ink, whichever is
// readable. Where colours cannot be mixed it is the paint of the largest share.
func (t *Theme) Blend(shares ...Share) Paint {
	largest, sum := Share{Fill: Empty}, 0.0
	for _, s := range shares {
		if s.Share > largest.Share {
			largest = s
		}
		sum += max(0, s.Share)
	}
	if !t.Blends() || sum <= 0 || math.IsInf(sum, 0) {
		return t.Area(largest.Fill)
	}
	var mix [3]float64
	for _, s := range shares {
		r, g, b, _ := t.areas[min(s.Fill, numFills-1)].colour.RGBA()
		for i, v := range [3]uint32{r, g, b} {
			mix[i] += max(0, s.Share) / sum * linear(float64(v)/0xffff)
		}
	}
	// Relative luminance as WCAG 2.2 has it; above 0.18 black ink has the
	// higher contrast.
	ink := lipgloss.Color("#ffffff")
	if 0.2126*mix[0]+0.7152*mix[1]+0.0722*mix[2] > 0.18 {
		ink = lipgloss.Color("#000000")
	}
	ground := color.Color(color.RGBA{R: gamma(mix[0]), G: gamma(mix[1]), B: gamma(mix[2]), A: 0xff})
	if _, indexed := t.areas[Forward].colour.(ansi.IndexedColor); indexed {
		ground, ink = colorprofile.ANSI256.Convert(ground), colorprofile.ANSI256.Convert(ink)
	}
	return paintOf(lipgloss.NewStyle().Foreground(ink).Background(ground))
}

// linear and gamma convert a channel between the sRGB curve and linear light
// (IEC 61966-2-1).
func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func gamma(v float64) uint8 {
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * min(1, max(0, v))))
}
