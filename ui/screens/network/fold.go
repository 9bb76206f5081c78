package network

import (
	"slices"

	"meshscope/engine"
)

// span is nodes one after the other that the map draws in one place: their GPUs stand alike in their
// groups, and none is in the group of the cursor.
type span struct{ first, last int }

// folded are the spans of the map, and what they are of.
type folded struct {
	of        engine.Setup
	dimension string
	rank      int
	list      []span
}

// mostFolded is up to how many GPUs are looked at for nodes that are alike.
const mostFolded = 1 << 13

// spans returns the nodes of the map, alike ones together where the cells give places in groups.
func (v *overview) spans(s *engine.Setup, dimension string, cursor int) []span {
	if v.folded.list != nil && v.folded.of == *s && v.folded.dimension == dimension &&
		v.folded.rank == cursor {
		return v.folded.list
	}
	of, ring := s, s.Ring(dimension, cursor)
	node := s.Cluster.Node()
	var list []span
	var last []int // places of the node before
	for n := range s.Nodes() {
		var places []int
		member := false
		for rank := n * node; rank < min((n+1)*node, s.GPUs) && s.GPUs <= mostFolded; rank++ {
			r := s.Ring(dimension, rank)
			place, _ := r.Place(rank)
			_, in := ring.Place(rank)
			places, member = append(places, place), member || in
		}
		if member {
			places = nil
		}
		if places != nil && slices.Equal(places, last) {
			list[len(list)-1].last = n
		} else {
			list = append(list, span{n, n})
		}
		last = places
	}
	v.folded = folded{*of, dimension, cursor, list}
	return list
}

// apart returns every node in a place of its own.
func apart(nodes int) []span {
	list := make([]span, nodes)
	for i := range list {
		list[i] = span{i, i}
	}
	return list
}

// slot returns the place of the list that shows a node.
func slot(list []span, node int) int {
	return max(slices.IndexFunc(list, func(s span) bool { return node <= s.last }), 0)
}
