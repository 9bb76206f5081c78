package input

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Places returns the line and column of every key of a sound TOML document under its path;
// tables and values of a list are numbered from 0: act.1.options.0.is.
func Places(text []byte) map[string][2]int {
	p := places{text: text, at: map[string][2]int{}, tables: map[string]int{}}
	p.parser.Reset(text)
	under := ""
	for p.parser.NextExpression() {
		switch e := p.parser.Expression(); e.Kind {
		case unstable.Table:
			under = p.path("", e.Key())
		case unstable.ArrayTable:
			name := p.path("", e.Key())
			under = join(name, strconv.Itoa(p.tables[name]))
			p.at[under] = p.at[name]
			p.tables[name]++
		case unstable.KeyValue:
			p.keyValue(under, e)
		default: // comments
		}
	}
	return p.at
}

type places struct {
	parser unstable.Parser
	text   []byte
	at     map[string][2]int
	tables map[string]int // how many of a list of tables came
}

func join(under, key string) string {
	if under == "" {
		return key
	}
	return under + "." + key
}

// path notes the place of a dotted key and returns its path.
func (p *places) path(under string, key unstable.Iterator) string {
	for key.Next() {
		under = join(under, string(key.Node().Data))
		line, column := Place(p.text, int(key.Node().Raw.Offset))
		p.at[under] = [2]int{line, column}
	}
	return under
}

func (p *places) keyValue(under string, e *unstable.Node) {
	p.value(p.path(under, e.Key()), e.Value())
}

func (p *places) value(path string, v *unstable.Node) {
	children := v.Children()
	for i := 0; (v.Kind == unstable.InlineTable || v.Kind == unstable.Array) && children.Next(); i++ {
		child := children.Node()
		switch {
		case v.Kind == unstable.InlineTable:
			p.keyValue(path, child)
		case child.Kind != unstable.Comment:
			one := join(path, strconv.Itoa(i))
			p.at[one] = p.at[path]
			p.value(one, child)
		default:
			i--
		}
	}
}
