package explain

import (
	"fmt"

	"meshscope/engine/recipe"
)

// figure is a leaf that the evaluation recorded.
func (b *Book) figure(id string) *Expr { return ref(b.recorded(id)) }

func (b *Book) tp() *Expr { return count("t", b.w.Setup.TP) }

func (b *Book) hidden() *Expr { return count("h", b.w.Setup.Model.Hidden) }

// tokens is T, the tokens of a micro-batch on one rank.
func (b *Book) tokens() *Expr { return b.figure("layout.tokens") }

// precision is what the setup's means on its stack.
func (b *Book) precision() recipe.Precision { return b.w.Setup.Precision.On(b.w.Setup.Stack) }

// overSP divides by TP what sequence parallelism cuts.
func (b *Book) overSP(x *Expr) *Expr {
	if !b.w.Setup.SP || b.w.Setup.TP == 1 {
		return x
	}
	return div(x, b.tp())
}

// rankParameters are the parameters on one GPU of a rank, dense or routed.
func (b *Book) rankParameters(r int, experts bool) *Expr {
	if experts {
		return b.figure(fmt.Sprintf("memory.ranks.%d.expert-parameters", r))
	}
	return b.figure(fmt.Sprintf("memory.ranks.%d.dense-parameters", r))
}

// layerFLOPs is the forward pass of one token through one layer.
func (b *Book) layerFLOPs(moe bool) *Expr {
	if moe {
		return b.figure("layer.moe.flops-per-token")
	}
	return b.figure("layer.dense.flops-per-token")
}

// scoreFLOPs are q*k and scores*v of one token in one layer.
func (b *Book) scoreFLOPs() *Expr { return b.figure("layer.attention.score-flops-per-token") }
