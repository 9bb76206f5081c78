package hardware

import (
	"fmt"
	"strings"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// AllToAll returns the time in which every rank sends volume bytes, an equal part to
// each member (itself included), and what it puts on the links for that. Traffic inside
// the domain and to other domains flows at the same time.
//
// Of the copies that every token sends, those to one rank may travel once, and
// those to one other domain too and spread there (DeepEP, arXiv 2412.19437 section
// 3.2.2; NVIDIA's HybridEP).
func (m *Machine) AllToAll(rec *record.Recorder, volume units.Bytes, g Members, r Routing) (t units.Seconds,
	sent units.Bytes,
) {
	if g.Size <= 1 {
		return 0, 0
	}
	c, net := m.Cluster, &m.Network
	n, in := float64(g.Size), float64(min(g.PerDomain, g.Size))
	near, far := units.Bytes(float64(volume)*m.crossing(n, r)*(in-1)/n), units.Bytes(0)
	t = net.Fixed
	inside := near.Over(c.Intra.Bandwidth * units.BytesPerSecond(m.inside(g, m.Spread(r), net.HalfAllToAll)))
	if n <= in {
		t += inside
	} else {
		far = units.Bytes(float64(volume) * m.crossing(g.domains(), r) * (n - in) / n)
		t += net.InterFixed + max(inside, far.Over(c.Inter.Bandwidth*units.BytesPerSecond(net.InterAllToAll)))
	}
	if rec.On() {
		m.recordAllToAll(rec, g, r, t, near+far)
	}
	return t, near + far
}

// recordAllToAll records what AllToAll gave, of the volume that the scope knows.
func (m *Machine) recordAllToAll(rec *record.Recorder, g Members, r Routing, t units.Seconds,
	sent units.Bytes,
) {
	net := &m.Network
	near := "volume" + m.crossingFormula("n", r) + " * (n_in - 1) / n"
	far := "volume" + m.crossingFormula("n_out", r) + " * (n - n_in) / n"
	time, bytes := near+" / (link * share_of_the_link)", near
	if g.Size > g.PerDomain {
		time = "start_over_the_network + max(" + time + ", " + far + " / (network * share_of_the_network))"
		bytes += " + " + far
	}
	source := "copies to one rank or domain may travel once (DeepEP, arXiv 2412.19437 section 3.2.2)"
	operands := []record.Operand{
		record.In("n", g.Size), record.In("n_in", min(g.PerDomain, g.Size)), record.In("n_out", g.domains()),
		record.InUnit(record.Share, "share_of_the_link", m.inside(g, m.Spread(r), net.HalfAllToAll)),
		record.InUnit(record.Share, "share_of_the_network", net.InterAllToAll),
	}
	if r.limits() {
		source += "; tokens go to a limited number of groups of experts, drawn at random, and there to " +
			"experts drawn at random (arXiv 2412.19437 section 2.1.2)"
		operands = append(operands, record.InUnit(record.Share, "copies_that_travel_to_n",
			m.crossing(float64(g.Size), r)),
			record.InUnit(record.Share, "copies_that_travel_to_n_out", m.crossing(g.domains(), r)))
	}
	rec.Figure(record.Entry{
		Name: rec.What(), Symbol: "t(" + rec.What() + ")", Unit: record.Seconds,
		Formula: "start_of_a_call + " + time, Value: float64(t),
		Source: "traffic inside the domain and out of it at the same time; " + source + "; " +
			record.From(net.From),
		LeavesOut: "other traffic on the same links",
	}, operands...)
	rec.Figure(record.Entry{
		ID: "sent", Name: "bytes that one GPU sends in the " + rec.What(), Symbol: "sent(" + rec.What() + ")",
		Unit:    record.Traffic,
		Formula: bytes, Value: float64(sent), Source: source, LeavesOut: "what a domain passes on inside",
	}, operands...)
}

// Spread returns the share of the scale-up link that an all-to-all of tokens reaches.
func (m *Machine) Spread(r Routing) float64 {
	if m.Software.Once && r.Copies > 1 && m.Network.Dispatch > 0 {
		return m.Network.Dispatch
	}
	return m.Network.AllToAll
}

// Routing says how many copies of a token go to as many different experts of how
// many there are, and to how many groups of experts at most; without Groups to any.
type Routing struct{ Copies, Experts, Groups, Limit int }

// limits reports whether a token reaches a part of the groups only.
func (r *Routing) limits() bool {
	return r.Limit > 0 && r.Limit < r.Groups && r.Experts%r.Groups == 0
}

// crossing returns the share of the copies that must travel: of d ranks or domains that
// hold the experts E evenly, d*(1-C(E-E/d,k)/C(E,k)) are hit by k different ones
// chosen at random.
func (m *Machine) crossing(d float64, r Routing) float64 {
	if !m.Software.Once || r.Copies <= 1 {
		return 1
	}
	e, k := float64(r.Experts), float64(r.Copies)
	if r.limits() {
		return d * r.hit(e/d) / k
	}
	return d * (1 - missed(e, e/d, r.Copies)) / k
}

// missed returns the chance that none of k different ones of e is among some x of them.
func missed(e, x float64, k int) float64 {
	chance := 1.0
	for i := range k {
		chance *= max(0, e-x-float64(i)) / (e - float64(i))
	}
	return chance
}

// hit returns the chance that a place with so many experts gets a token, which goes to
// Limit of the groups: the place holds a part of one group, or some whole ones.
func (r *Routing) hit(experts float64) float64 {
	group := float64(r.Experts) / float64(r.Groups)
	open := group * float64(r.Limit)
	held := int(experts/group + 0.5)
	if held <= 1 {
		return float64(r.Limit) / float64(r.Groups) * (1 - missed(open, min(experts, group), r.Copies))
	}
	sum := 0.0
	for j := 1; j <= min(held, r.Limit); j++ {
		sum += choose(held, j) * choose(r.Groups-held,
			r.Limit-j) * (1 - missed(open, float64(j)*group, r.Copies))
	}
	return sum / choose(r.Groups, r.Limit)
}

// choose returns the number of ways to choose k of n.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return ways
}

// crossingFormula is crossing as a factor, of the named number of places.
func (m *Machine) crossingFormula(d string, r Routing) string {
	if !m.Software.Once || r.Copies <= 1 {
		return ""
	}
	if r.limits() {
		return " * copies_that_travel_to_" + d
	}
	missed := make([]string, r.Copies)
	for i := range missed {
		missed[i] = fmt.Sprintf("max(E - E / %s - %d, 0) / (E - %d)", d, i, i)
	}
	return " * (" + d + " * (1 - " + strings.Join(missed, " * ") + ") / k)"
}
