package knob

import (
	"errors"
	"slices"
	"strings"

	"meshscope/engine/recipe"
)

// Alias is another name of a knob, as a flag and as a key of setup documents: on and off stand for words of
// the knob. One without such words takes those of the knob.
type Alias struct {
	Name, Knob ID
	On, Off    string
	Help       string
	Old        bool // taken, and no longer listed
}

// Aliases lists the other names of knobs.
func Aliases() []Alias {
	return []Alias{
		{
			Name: "async-tp", Knob: "tp-overlap", On: "async", Off: "none",
			Help: "async TP overlaps its traffic: --tp-overlap async",
		},
		{
			Name: "fp8-attention", Knob: "attention-precision", On: "fp8", Off: "bf16",
			Help: "--attention-precision fp8", Old: true,
		},
		{Name: "stack", Knob: Calibration, Help: "--calibration", Old: true}, // as rows and texts call it
	}
}

// Called returns an error about the value of a knob under the other name that the knob was called by.
func Called(name string, err error) error {
	bad, ok := errors.AsType[*ValueError](err)
	if id, _, _ := Named(ID(name), ""); !ok || string(id) == name || bad.Field != string(id) {
		return err
	}
	as := *bad
	as.Field = name
	return &as
}

// words are other words for choices, as people and launchers write them.
func words() map[ID]map[string]string {
	optimizers := map[string]string{} // of the Trainer; adamw is among them, whose bytes are adam's
	for _, o := range recipe.Optimizers() {
		for _, name := range o.TrainerNames() {
			if !slices.Contains(recipe.Optimizers(), recipe.Optimizer(name)) { // sgd is ours
				optimizers[name] = string(o)
			}
		}
	}
	return map[ID]map[string]string{
		Optimizer:      optimizers,
		"comm-overlap": {"cautious": "pessimistic"},
		Schedule:       {"1f1b-interleaved": "interleaved", "vpp": "interleaved", "zb1p": "zb-1p"},
		// run on it
		Calibration: {
			"megatron-bridge": "megatron-core", "megatron-lm": "megatron-core",
			"nemo": "megatron-core",
		},
	}
}

// launcherWords are what launchers and trainers call knobs, as plainWord writes it, without a num in front or
// a size or degree behind.
const launcherWords = `
dp: dp dataparallel dataparallelshard ddp
tp: tp tensorparallel tensormodelparallel modelparallel
pp: pp pipelineparallel pipelinemodelparallel pipelinestages
vpp: vpp virtualpipelineparallel virtualpipelinemodelparallel virtualpipeline virtualstages
cp: cp contextparallel ringattention
ep: ep expertparallel expertmodelparallel
etp: etp experttensorparallel
sp: sequenceparallel
zero: zerostage zerooptimization
zero=1: distributedoptimizer usedistributedoptimizer
zero=3: fsdp fsdp2 fullyshardeddataparallel
hsdp: dataparallelreplicate
mbs: batch microbatchsize localbatch perdevicebatch perdevicetrainbatch trainmicrobatchsizepergpu
node-bandwidth: nodenetwork network internodebandwidth interconnect infiniband
link-bandwidth: nvlink nvlinkbandwidth
gbs: batch globalbatch trainbatch totalbatch
microbatches: gradientaccumulation gradientaccumulationsteps gradaccum gradaccumulation gradaccumsteps
seq: seqlength seqlen sequence sequencelength sequencelen maxseqlength maxseqlen maxsequencelength maxlength
seq: context contextlength contextlen blocksize block
gpus: gpus ngpus worldsize world processes devices accelerators
nodes: nodes nnodes hosts
gpus-per-node: nprocpernode procpernode ntaskspernode devicespernode
precision: dtype mixedprecision paramsdtype torchdtype
precision=fp8: fp8 fp8format fp8hybrid
precision=fp16: fp16 float16
precision=bf16: bf16 bfloat16
precision=nvfp4: fp4 nvfp4
recompute: recomputegranularity recomputeactivations checkpointactivations
recompute: activationcheckpoint activationcheckpointing gradientcheckpointing
attention: useflashattn flashattention flashattn attnimplementation attentionbackend
loss: crossentropylossfusion crossentropyfusionimpl
lora: lorar
lora-targets: targetmodules
compile: torchcompile
dispatcher: moetokendispatchertype tokendispatcher
tp-overlap: tpcommoverlap
dp-overlap: overlapgradreduce
offload: optimizercpuoffload offloadoptimizer cpuoffload
tokens: traintokens trainingtokens totaltokens
calibration: framework
`

// Meant returns the ones of some known words that a launcher's name stands for: tp for
// tensor_model_parallel_size, precision=fp8 for fp8.
func Meant(typed string, known []string) (out []string) {
	typed = plainWord(typed)
	bare := typed
	for _, part := range []string{"num", "size", "degree"} {
		bare = strings.TrimSuffix(strings.TrimPrefix(bare, part), part)
	}
	for line := range strings.Lines(launcherWords) {
		of, names, _ := strings.Cut(line, ":")
		key, value, _ := strings.Cut(of, "=")
		if all := strings.Fields(names); !slices.Contains(all, bare) && !slices.Contains(all, typed) {
			continue
		}
		for _, word := range known {
			if plainWord(word) == plainWord(key) {
				out = append(out, strings.TrimSuffix(word+"="+value, "="))
			}
		}
	}
	return out
}

// Spelled returns the one of some words that is written like another, but for case and punctuation:
// llama-3.1-8b for llama3.1-8b. False where there is none, or several.
func Spelled(typed string, words []string) (string, bool) {
	found, n := "", 0
	for _, word := range words {
		if plainWord(word) == plainWord(typed) && plainWord(typed) != "" {
			found, n = word, n+1
		}
	}
	return found, n == 1
}

// plainWord returns a word in lower case without punctuation.
func plainWord(word string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_./:", r) {
			return -1
		}
		return r
	}, strings.ToLower(word))
}

// Named returns the knob that a name means and the value in its words: those of most aliases are on and off.
// Another name stays as it is.
func Named(name ID, value string) (ID, string, error) {
	all := Aliases()
	i := slices.IndexFunc(all, func(a Alias) bool { return a.Name == name })
	if i < 0 {
		return name, value, nil
	}
	if all[i].On == "" {
		return all[i].Knob, value, nil
	}
	on, ok := Switched(value)
	switch {
	case !ok:
		return all[i].Knob, value, &ValueError{Field: string(name), Given: value, Allowed: onOrOff}
	case on:
		return all[i].Knob, all[i].On, nil
	}
	return all[i].Knob, all[i].Off, nil
}
