package presets

import (
	"fmt"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
)

// RecipeColumns are the columns of recipes.csv.
const RecipeColumns = "model,run,shape,generation,gpu,gpus,gbs,seq,precision,dispatcher,title,source"

// readRecipes reads what published runs trained models with: a run on each line, its values
// separated by commas, # before a comment.
func readRecipes(text string) (out []hardware.Recipe, err error) {
	line := 0
	for record := range strings.Lines(text) {
		line++
		record = strings.TrimRight(record, "\r\n")
		if record == "" || record[0] == '#' {
			continue
		}
		r, err := readRecipe(record)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", recipesFile, line, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// readRecipe reads a line of recipes.csv.
func readRecipe(record string) (r hardware.Recipe, err error) {
	f := fields{rest: record, columns: RecipeColumns}
	f.next() // the model, which its shape tells
	f.next() // the run, which the title and the source tell
	for _, into := range [...]*string{&r.Shape, &r.Generation, &r.GPU} {
		*into = f.next()
	}
	for _, into := range [...]*int{&r.GPUs, &r.GBS, &r.Seq} {
		if f.int(into); *into < 1 {
			f.fail(fmt.Errorf("GPUs, batch and sequence are at least 1, not %d", *into))
		}
	}
	r.Precision, r.Dispatcher = recipe.Precision(f.next()), recipe.Dispatcher(f.next())
	r.Title, r.Source = f.next(), f.next()
	return r, f.err()
}
