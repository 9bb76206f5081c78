// Package ring works out who does what when on a ring of GPUs: which part of the scores of
// ring attention a rank computes in which step, and which chunk of a collective is where
// after which step, with whose sums. Combinatorics only; setup.go takes sizes, rates and times
// from the engine.
package ring

// Attention is ring attention under a causal mask. The sequence is cut into twice as many
// parts as there are ranks; each rank keeps the queries of two of them, and the keys and values
// of all travel round the ring, so that each rank meets those of every other.
type Attention struct {
	Tokens, Ranks int
	ZigZag        bool // rank i has parts i and 2*Ranks-1-i; otherwise 2i and 2i+1
}

// Parts returns into how many parts the sequence is cut.
func (a *Attention) Parts() int { return 2 * a.Ranks }

// Owner returns the rank with the queries of a part, which also starts with its keys and values.
func (a *Attention) Owner(part int) int {
	switch {
	case !a.ZigZag:
		return part / 2
	case part < a.Ranks:
		return part
	default:
		return a.Parts() - 1 - part
	}
}

// Own returns the parts of a rank, the earlier one first.
func (a *Attention) Own(rank int) [2]int {
	if a.ZigZag {
		return [2]int{rank, a.Parts() - 1 - rank}
	}
	return [2]int{2 * rank, 2*rank + 1}
}

// From returns the rank whose keys and values another one holds in a step, from 0: each step
// hands them on to the next rank.
func (a *Attention) From(rank, step int) int { return mod(rank-step, a.Ranks) }

// Step returns in which step the scores of the queries of part q with the keys of part k are
// computed, from 0, by the owner of q; false: never, the keys come later in the sequence.
func (a *Attention) Step(q, k int) (int, bool) {
	return mod(a.Owner(q)-a.Owner(k), a.Ranks), k <= q
}

// tokens returns how many tokens a part has; parts differ by one where the tokens do not divide.
func (a *Attention) tokens(part int) int {
	return (part+1)*a.Tokens/a.Parts() - part*a.Tokens/a.Parts()
}

// Pairs returns how many query-key pairs of two parts the mask leaves.
func (a *Attention) Pairs(q, k int) int {
	switch n := a.tokens(q); {
	case k > q:
		return 0
	case k == q: // a token attends to itself and those before it
		return n * (n + 1) / 2
	default:
		return n * a.tokens(k)
	}
}

// Work returns how many query-key pairs a rank computes in a step, from 0.
func (a *Attention) Work(rank, step int) int {
	sum := 0
	for _, q := range a.Own(rank) {
		for _, k := range a.Own(a.From(rank, step)) {
			sum += a.Pairs(q, k)
		}
	}
	return sum
}

// Done returns how many query-key pairs a rank has computed after so many steps.
func (a *Attention) Done(rank, steps int) int {
	sum := 0
	for step := range min(steps, a.Ranks) {
		sum += a.Work(rank, step)
	}
	return sum
}

// Total returns how many pairs a rank computes in all steps.
func (a *Attention) Total(rank int) int {
	sum := 0
	for _, q := range a.Own(rank) {
		n := a.tokens(q)
		sum += n*(q*a.Tokens/a.Parts()) + n*(n+1)/2
	}
	return sum
}

// Busiest returns the rank that computes the most, its pairs, and the mean of all ranks.
func (a *Attention) Busiest() (rank, pairs int, mean float64) {
	sum := 0
	for r := range a.Ranks {
		n := a.Total(r)
		if sum += n; n > pairs {
			rank, pairs = r, n
		}
	}
	return rank, pairs, float64(sum) / float64(max(a.Ranks, 1))
}

// mod returns the rest of a division that is never negative.
func mod(x, n int) int { return (x%n + n) % n }
