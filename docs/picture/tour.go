//go:build unix

package main

import (
	"fmt"
	"strings"
)

// scene is a screen of the tour: the keys that lead to it from the one before, and what it shows.
type scene struct{ keys, caption string }

// tour is the animation of the README.
func tour() []scene {
	return []scene{
		{"", "Llama 3.1 70B on 256 H100, in the layout that search ranks first"},
		{"down,right", "↓ chooses a knob, → turns it to its next legal value; every figure follows"},
		{"e,enter", "e explains a figure: formula, your numbers, source"},
		{"esc,esc,u,tab", "Memory: what fills each rank, and when"},
		{"tab", "Pipeline: what each rank does at each moment, and why it waits"},
		{"t", "t compares all schedules on this setup"},
		{"esc,tab", "Network: what each dimension sends, and how much of it is exposed"},
	}
}

// Seconds that a scene of the tour is shown.
const sceneSeconds = 4

// animate joins pictures of the same size, one after the other for ever. Where nothing moves, by
// choice or by lack of style sheets, the first one stays.
func animate(pictures []string, scenes []scene) string {
	const captionHeight = 34
	width, height := picturesSize(pictures[0])
	total := sceneSeconds * len(scenes)
	var out strings.Builder
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
			`role="img">`+"\n",
		width, height+captionHeight)
	fmt.Fprintf(&out, "<title>%s</title>\n", "A tour of meshscope in "+fmt.Sprint(len(scenes))+" screens")
	share := 100 / float64(len(scenes))
	fmt.Fprintf(&out, "<style>.scene{visibility:hidden}.scene:nth-of-type(1){visibility:visible}"+
		"@media(prefers-reduced-motion:no-preference){.scene{animation:show %ds step-end infinite}"+
		"@keyframes show{0%%{visibility:visible}%.4g%%,100%%{visibility:hidden}}", total, share)
	for i := range scenes {
		fmt.Fprintf(&out, ".s%d{animation-delay:%ds!important}", i, i*sceneSeconds)
	}
	out.WriteString("}</style>\n")
	for i, s := range scenes {
		fmt.Fprintf(&out, `<g class="scene s%d">`+"\n%s", i, pictures[i])
		fmt.Fprintf(&out,
			`<text x="%d" y="%d" text-anchor="middle" font-family="system-ui, sans-serif" font-size="17" `+
				`fill="#7d8590">%d/%d  %s</text>`+"\n</g>\n",
			width/2, height+23, i+1, len(scenes), s.caption)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// picturesSize returns the width and height in a picture's first line.
func picturesSize(picture string) (width, height int) {
	_, after, _ := strings.Cut(picture, ` width="`)
	_, _ = fmt.Sscanf(after, `%d" height="%d"`, &width, &height)
	return width, height
}
