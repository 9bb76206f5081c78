package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// htmlStyle is the style of a page: readable on screen, on paper and where styles are dropped.
const htmlStyle = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;` +
	`color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem;border-bottom:1px solid #ccc}
p{margin:.4rem 0}.lead{font-weight:600}dl{display:grid;grid-template-columns:max-content 1fr;` +
	`gap:.15rem 1rem;margin:.4rem 0}
dt{color:#555}dd{margin:0}table{border-collapse:collapse;margin:.5rem 0}
td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top;border-bottom:1px solid #eee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}` +
	`pre{background:#f4f4f4;padding:.6rem;white-space:pre-wrap}
ul{margin:.4rem 0;padding-left:1.2rem}.picture{overflow-x:auto;margin:.6rem 0}` +
	`svg{max-width:100%;min-width:38rem;height:auto}
@media print{body{margin:0;max-width:none}svg{min-width:0}h2{break-after:avoid}}`

// writeHTML writes a document as one page that needs no other file.
func writeHTML(to io.Writer, d *Document) error {
	w := page{bufio.NewWriter(to)}
	title := d.Title
	if title == "" {
		title = "meshscope"
	}
	w.printf("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "+
		"content=\"width=device-width\"><title>%s</title>\n<style>%s</style></head>\n<body><h1>%s</h1>\n",
		html.EscapeString(title), htmlStyle, html.EscapeString(title))
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Heading != "" {
			w.printf("<h2>%s</h2>\n", html.EscapeString(s.Heading))
		}
		if s.Lead != "" {
			w.printf("<p class=\"lead\">%s</p>\n", html.EscapeString(capital(s.Lead)))
		}
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	w.printf("</body></html>\n")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// page buffers HTML; Flush returns the first error of writing.
type page struct{ *bufio.Writer }

func (w page) printf(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func (w page) block(b Block) {
	switch b := b.(type) {
	case Sentence:
		w.printf("<p>%s</p>\n", html.EscapeString(string(b)))
	case Detail:
		w.printf("<p>%s</p>\n", html.EscapeString(string(b)))
	case Line:
		w.printf("<p>%s</p>\n", html.EscapeString(string(b)))
	case Facts:
		w.printf("<dl>\n")
		for _, f := range b {
			w.printf("<dt>%s</dt><dd>%s</dd>\n", html.EscapeString(f.Name), html.EscapeString(f.Value))
		}
		w.printf("</dl>\n")
	case Item:
		w.printf("<ul><li>%s", html.EscapeString(b.Text))
		for _, detail := range b.Details {
			w.printf("<br>%s", html.EscapeString(detail))
		}
		w.printf("</li></ul>\n")
	case *Table:
		w.table(b)
	case Command:
		w.printf("<pre>%s</pre>\n", html.EscapeString(string(b)))
	case Picture:
		w.printf("<div class=\"picture\">%s</div>\n", string(b))
	}
}

func (w page) table(t *Table) {
	class := make([]string, len(t.Head))
	w.printf("<table><tr>")
	for j, head := range t.Head {
		if t.column(j, func(c *Cell) bool { return c.Number || c.right }) {
			class[j] = ` class="n"`
		}
		w.printf("<th%s>%s</th>", class[j], html.EscapeString(head))
	}
	w.printf("</tr>\n")
	for _, row := range t.Rows {
		w.printf("<tr>")
		for j, c := range row {
			w.printf("<td%s>%s</td>", class[j], html.EscapeString(c.Text))
		}
		w.printf("</tr>\n")
	}
	w.printf("</table>\n")
}
