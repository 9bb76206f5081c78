package search

// Cuts returns how many ways there are of cutting the GPUs, over all batches and
// sequences of the space; where that is more than most, something more than most.
func (p *Problem) Cuts(most int) (n int) {
	q := *p
	batches := len(or(p.Space.GBS, p.Setup.GBS)) * p.Space.Combinations()
	for _, gpus := range or(p.Space.GPUs, p.Setup.GPUs) {
		for _, seq := range or(p.Space.Seq, p.Setup.Seq) {
			q.Space.GPUs, q.Space.Seq, q.Space.GBS = []int{gpus}, []int{seq}, []int{1}
			if n += batches * len(q.planes(0)); n > most {
				return n
			}
		}
	}
	return n
}
