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

// launcherWords are what launchers and trainers call knobs, as plainWord writes it, without num, size, degree
// or enabled around it. Words of a value mean just it with =, and are taken for it; with ~ it is proposed
// for them. A flag is named by those before a bar, of the first knob.
const launcherWords = `
dp: dp dataparallel dataparallelshard ddp
tp: autotp parallelismconfigtp
cp: parallelismconfigcp parallelismconfigsp ulyssessequenceparallel dssequenceparallel
cp-comm: cpcommtype contextparallelcommtype sequenceparallelmode
cp-comm=a2a: | ulysses alltoall
cp-comm=p2p: | ring
tp: tp tensorparallel tensormodelparallel modelparallel
pp: pp pipelineparallel pipelinemodelparallel pipelinestages
vpp: vpp virtualpipelineparallel virtualpipelinemodelparallel virtualpipeline virtualstages
cp: cp contextparallel ringattention
ep: ep expertparallel expertmodelparallel
etp: etp experttensorparallel
sp: sequenceparallel tpmode
zero: zerostage zerooptimization zerooptimizationstage dataparallelshardingstrategy
zero~0: | ddp none off noshard
zero~1: distributedoptimizer usedistributedoptimizer | stage1
zero~2: shardgradop | stage2
zero~3: usemegatronfsdp megatronfsdp reshardafterforward fsdpreshardafterforward
zero~3: fsdp fsdp2 fullyshardeddataparallel fullshard | stage3
hsdp: dataparallelreplicate
qwz: zeroquantizedweights
qgz: zeroquantizedgradients
hpz: zerohpzpartition hpzero zpg
mbs: pipelineparallelmicrobatchsize
mbs: batch microbatchsize localbatch perdevicebatch perdevicetrainbatch trainmicrobatchsizepergpu
node-bandwidth: nodenetwork network internodebandwidth interconnect infiniband
link-bandwidth: nvlink nvlinkbandwidth
gbs: batch globalbatch trainbatch totalbatch
microbatches: gradientaccumulation gradientaccumulationsteps gradaccum gradaccumulation gradaccumsteps
seq: seqlength seqlen sequence sequencelength sequencelen maxseqlength maxseqlen maxsequencelength maxlength
seq: context contextlength contextlen blocksize block
seq: maxcontextlength maxpositionembeddings cutofflen sl
gpus: gpus ngpus worldsize world processes devices accelerators
microbatches: batchaccumulationperreplica
nodes: nodes nnodes hosts machines
gpus-per-node: nprocpernode procpernode ntaskspernode devicespernode
schedule: ppengine pipelineschedule
schedule=afab: gpipe
schedule=interleaved: 1f1binterleaved interleaved1f1b | vpp
schedule~zb-v: zbvzerobubble
schedule~interleaved-zb: interleavedzerobubble
precision: dtype mixedprecision mixedprecisionparam paramsdtype torchdtype
precision~fp8: fp8format fp8hybrid float8 | hybrid e4m3
precision=fp8: fp8
precision~fp8:megatron: mxfp8
precision=fp16: fp16 float16 | half
precision,grad-dtype,weight-dtype,attention-precision=bf16: bf16 bfloat16
precision~bf16: amp bf16mixed | mixed
precision~fp16: fp16mixed
precision,grad-dtype,weight-dtype=fp32: float32
precision=nvfp4: nvfp4
precision~nvfp4: fp4
grad-dtype: gradreduceinfp32 accumulategradinfp32 gradaccumdtype
base-dtype~nf4: qlora loadin4bit | 4bit int4
base-dtype~int8: loadin8bit | 8bit
recompute: recomputegranularity recomputeactivations checkpointactivations
recompute: recomputemethod recomputenumlayers recomputelayer activationcheckpointmode
recompute: fsdpactivationcheckpointing disablegradientcheckpointing
recompute: activationcheckpoint activationcheckpointing gradientcheckpointing
recompute,offload=none: | off no false
recompute~full: | uniform block on yes true
recompute~selective: | coreattn
attention: useflashattn attnimplementation attentionbackend
attention=flash: flashattention flashattn
attention=flash2: flashattention2 | fa2
attention=flash3: flashattention3 | fa3
attention=flash4: flashattention4 | fa4
attention~flash: sdpa | fused
attention~efficient: memoryefficient memefficient xformers
attention~standard: | eager unfused local math
loss: crossentropylossfusion crossentropyfusionimpl
loss~fused: | te
loss~liger: cutcrossentropy cce
lora: lorar
lora-targets: targetmodules
compile: torchcompile
dispatcher: moetokendispatchertype tokendispatcher
tp-overlap: tpcommoverlap asynctensorparallel
dp-overlap: overlapgradreduce overlapparamgather
comm-overlap=pessimistic: | cautious
optimizer: optimizername optimizerfactoryname
offload: optimizercpuoffload offloadoptimizer offloadoptimizerdevice cpuoffload
offload~optimizer: | cpu host on yes true
offload~optimizer-nvme: | nvme
offload~weights: offloadparam offloadparamdevice fsdpoffloadparams | param params parameters
cuda-graph=iteration: | fulliteration
x: over sweep vary axis along
y: figure metric plot
tokens: trainiters maxsteps traintokens trainingtokens totaltokens
calibration: framework
calibration=megatron-core: | megatronbridge megatronlm nemo
`

// named is a row of launcherWords.
type named struct {
	knobs []string
	value string // of the knobs; empty: the row names them
	same  bool   // its words mean just the value

	words []string
	flags int // so many of the words are names of flags too
}

// launcherRows returns launcherWords taken apart.
func launcherRows() (rows []named) {
	for line := range strings.Lines(strings.TrimSpace(launcherWords)) {
		at := strings.LastIndexByte(line, ':')
		of, words := line[:at], line[at+1:]
		flags, more, _ := strings.Cut(words, "|")
		row := named{words: strings.Fields(flags + more), flags: len(strings.Fields(flags))}
		if at := strings.IndexAny(of, "=~"); at >= 0 {
			of, row.value, row.same = of[:at], of[at+1:], of[at] == '='
		}
		row.knobs = strings.Split(of, ",")
		rows = append(rows, row)
	}
	return rows
}

// MeantValue returns the value that another word for it stands for, and whether the word means just that.
func (k *Knob) MeantValue(typed string) (value string, same bool) {
	typed = plainWord(typed)
	if k.ID == Optimizer {
		for _, o := range recipe.Optimizers() { // adamw is among them, whose bytes are adam's
			for _, name := range o.TrainerNames() {
				if plainWord(name) == typed {
					return string(o), true
				}
			}
		}
	}
	for _, row := range launcherRows() {
		if row.value != "" && slices.Contains(row.knobs, string(k.ID)) && slices.Contains(row.words, typed) {
			return row.value, row.same
		}
	}
	return "", false
}

// Meant returns the ones of some known words that a launcher's name stands for: tp for
// tensor_model_parallel_size, precision=fp8 for fp8.
func Meant(typed string, known []string) (out []string) {
	typed = plainWord(typed)
	bare := typed
	for _, part := range []string{"num", "size", "degree", "enabled", "enable"} {
		bare = strings.TrimSuffix(strings.TrimPrefix(bare, part), part)
	}
	for _, row := range launcherRows() {
		if names := row.words[:row.flags]; !slices.Contains(names, bare) && !slices.Contains(names, typed) {
			continue
		}
		for _, word := range known {
			if plainWord(word) == plainWord(row.knobs[0]) {
				out = append(out, strings.TrimSuffix(word+"="+row.value, "="))
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
