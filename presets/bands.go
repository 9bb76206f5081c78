package presets

import (
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// bandTable reads the errors of the validated groups; a library without such a
// table has those of the one below it.
func (l *Library) bandTable() []hardware.Band {
	for at := l; at != nil; at = at.base {
		text, err := readFile(at.fsys, bandsFile)
		if err != nil {
			continue
		}
		var f struct {
			Bands []bandFile `toml:"band"`
		}
		d := &document{name: bandsFile, text: text}
		if d.decode(&f) != nil {
			continue
		}
		list := make([]hardware.Band, 0, len(f.Bands))
		for _, b := range f.Bands {
			list = append(list, b.band())
		}
		return list
	}
	return nil
}

// bandFile is the TOML form of a hardware.Band.
type bandFile struct {
	Group      string                 `toml:"group"`
	Memory     bool                   `toml:"memory"`
	Stack      recipe.Stack           `toml:"stack"`
	GPU        string                 `toml:"gpu"`
	MoE        bool                   `toml:"moe"`
	Rows       int                    `toml:"rows"`
	Median     float64                `toml:"median"`
	P90        float64                `toml:"p90"`
	InSample   bool                   `toml:"fitted"`
	GPUs       [2]float64             `toml:"gpus"`
	Seq        [2]float64             `toml:"seq"`
	TP         [2]float64             `toml:"tp"`
	PP         [2]float64             `toml:"pp"`
	CP         [2]float64             `toml:"cp"`
	EP         [2]float64             `toml:"ep"`
	Parameters [2]float64             `toml:"parameters"`
	Inter      [2]float64             `toml:"inter_GBps"`
	Nodes      bool                   `toml:"nodes"`
	Networks   []string               `toml:"networks"`
	Precisions []recipe.Precision     `toml:"precisions"`
	Schedules  []string               `toml:"schedules"`
	Recompute  []recipe.RecomputeMode `toml:"recompute"`
	Recipes    []recipeFile           `toml:"recipes"`
}

// recipeFile is the TOML form of a hardware.Recipe.
type recipeFile struct {
	ZeRO      int              `toml:"zero"`
	HSDP      bool             `toml:"hsdp"`
	TP        bool             `toml:"tp"`
	SP        bool             `toml:"sp"`
	Attention recipe.Attention `toml:"attention"`
	Optimizer recipe.Optimizer `toml:"optimizer"`
	Gradients recipe.GradDtype `toml:"gradients"`
}

func (b *bandFile) band() hardware.Band {
	of := func(ends [2]float64) hardware.Range { return hardware.Range{Least: ends[0], Most: ends[1]} }
	recipes := make([]hardware.Recipe, len(b.Recipes))
	for i, r := range b.Recipes {
		recipes[i] = hardware.Recipe(r)
	}
	inter := of(b.Inter)
	inter.Least, inter.Most = inter.Least*float64(units.GBps), inter.Most*float64(units.GBps)
	return hardware.Band{
		Group: b.Group, Memory: b.Memory, Stack: b.Stack, GPU: b.GPU, MoE: b.MoE, Rows: b.Rows,
		Median: b.Median, P90: b.P90, InSample: b.InSample,
		Reach: hardware.Reach{
			GPUs: of(b.GPUs), Seq: of(b.Seq), TP: of(b.TP), PP: of(b.PP), CP: of(b.CP), EP: of(b.EP),
			Parameters: of(b.Parameters), Inter: inter, Nodes: b.Nodes, Networks: b.Networks,
			Precisions: b.Precisions, Schedules: b.Schedules, Recompute: b.Recompute, Recipes: recipes,
		},
	}
}
