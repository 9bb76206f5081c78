package launch

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/layout"
)

// processes is the name of what starts training has, and no key of its own.
const processes = "number of processes"

// world resolves the number of GPUs from the command that starts the processes.
func (r *reader) world(s *script, starter []shellField) {
	options, torchrun, deepspeed, accelerated := map[string]shellField{}, false, false, false
	for i, f := range starter {
		name := path.Base(f.text)
		deepspeed, accelerated = deepspeed || name == "deepspeed", accelerated || name == "accelerate" ||
			name == "accelerate.commands.launch"
		if m := launchForm.FindStringSubmatch(f.text); m != nil { // NPROC_PER_NODE=8 megatron sft
			option := map[string]string{"NPROC_PER_NODE": "nproc-per-node", "NNODES": "nnodes"}[m[1]]
			options[option] = shellField{text: m[2], unknown: f.unknown, line: f.line}
			torchrun = true
		}
		torchrun = torchrun || name == "torchrun" || strings.HasPrefix(name, "torch.distributed")
		key, value, given := strings.Cut(strings.TrimLeft(f.text, "-"), "=")
		if !given && i+1 < len(starter) {
			value = starter[i+1].text
			f.unknown = cmp.Or(f.unknown, starter[i+1].unknown)
		}
		if strings.HasPrefix(f.text, "-") {
			key = strings.ReplaceAll(key, "_", "-")
			if m := gluedForm.FindStringSubmatch(f.text); m != nil { // -N2
				key, value = m[1], m[2]
			}
			if long := map[string]string{"N": "nodes", "n": "ntasks"}[key]; long != "" {
				key = long
			}
			options[key] = shellField{text: value, unknown: f.unknown, line: f.line}
		}
	}
	// of the environment, where the program reads it
	for _, name := range []string{"NPROC_PER_NODE", "NNODES"} {
		key := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if v := s.vars[name]; len(v) == 1 && s.exported[name] && options[key].text == "" &&
			slices.ContainsFunc(starter, func(f shellField) bool {
				return slices.Contains([]string{"swift", "megatron", "llamafactory-cli"}, path.Base(f.text))
			}) {
			options[key], torchrun = s.legible(v[0]), true
		}
	}
	line := 0
	of := func(keys ...string) int {
		for _, key := range keys {
			if n, err := strconv.Atoi(options[key].text); err == nil && n > 0 && n <= layout.MaxGPUs {
				line = cmp.Or(line, options[key].line)
				return n
			}
			if n, err := strconv.Atoi(s.sbatch[key]); err == nil && n > 0 && n <= layout.MaxGPUs &&
				options[key].text == "" {
				line = cmp.Or(line, s.lines[key])
				return n
			}
		}
		return 0
	}
	for _, key := range []string{
		"nproc-per-node", "nnodes", "ntasks", "nodes", "ntasks-per-node",
		"gpus-per-node", "num-nodes", "num-gpus", "num-processes",
	} {
		if o := options[key]; o.unknown != "" {
			r.launched = fmt.Sprintf("--%s %s", key, dependsOn(unresolved(o.unknown)))
			line = o.line
			break
		} else if digits := strings.TrimLeft(o.text, "0"); len(digits) >= len(strconv.Itoa(layout.MaxGPUs)) &&
			strings.Trim(digits, "0123456789") == "" {
			r.launched = fmt.Sprintf("--%s %s: more than the %d GPUs that are evaluated", key, shown(o.text),
				layout.MaxGPUs)
			line = o.line
			break
		}
	}
	gpus := 0
	if actors := r.argument("actor-num-nodes"); actors > 0 {
		line = r.values["actor-num-nodes"].Line
		if each := r.argument("actor-num-gpus-per-node"); each > 0 {
			gpus = times(actors, each)
		}
	} else if gpus = of("num-processes"); accelerated {
		if gpus == 0 {
			r.launched = cmp.Or(r.launched, "accelerate launch: its configuration says it")
		}
	} else if deepspeed && !torchrun {
		nodes, each := of("num-nodes"), of("num-gpus")
		if each == 0 {
			nodes, each = max(nodes, of("nodes")), of("gpus-per-node")
		}
		if host := options["hostfile"]; nodes == 0 && host.text != "" {
			r.launched = cmp.Or(r.launched, "--hostfile "+shown(host.text)+" says it, which is another file")
			line, each = host.line, 0
		} else if _, devices, ok := strings.Cut(options["include"].text, "localhost:"); ok {
			nodes, each = 1, 1+strings.Count(devices, ",")
		}
		gpus = max(nodes, 1) * each
	} else if torchrun {
		nodes := max(of("nnodes"), 1)
		if options["nnodes"].text != "" && of("nnodes") == 0 { // 1:4, or a variable
			nodes = of("nodes")
		}
		if gpus = nodes * of("nproc-per-node"); options["nproc-per-node"].text == "" &&
			!slices.ContainsFunc(starter,
				func(f shellField) bool { return strings.HasSuffix(f.text, "torchrun") }) {
			gpus = nodes * of("gpus-per-node")
		}
		if nodes > 1 && gpus > 0 {
			r.each = shape{gpus / nodes, line}
		}
	} else if gpus = of("ntasks"); gpus == 0 {
		gpus = of("nodes") * of("ntasks-per-node", "gpus-per-node")
	}
	if gpus == 0 && r.launched == "" {
		gpus = max(of("nnodes"), 1) * s.visible(starter, deepspeed)
	}
	r.processes(gpus, line)
}

// visible counts the GPUs that a variable of the environment leaves to programs that start a process on each,
// or to one process alone.
func (s *script) visible(starter []shellField, each bool) int {
	n, alone := s.devices(starter), true
	for _, f := range starter {
		name := path.Base(f.text)
		each = each || name == "llamafactory-cli"
		alone = alone && name != "torchrun" && !strings.HasPrefix(name, "torch.distributed")
	}
	if !each && (n > 1 || !alone) {
		return 0
	}
	return n
}

// devices counts the GPUs that a variable of the environment leaves to a command; 0: it does not say.
func (s *script) devices(starter []shellField) int {
	list := ""
	if v := s.vars["CUDA_VISIBLE_DEVICES"]; len(v) == 1 {
		list = v[0].text
	}
	for _, f := range starter {
		if text, ok := strings.CutPrefix(f.text, "CUDA_VISIBLE_DEVICES="); ok {
			list = text
		}
	}
	if !visibleForm.MatchString(list) {
		return 0
	}
	return 1 + strings.Count(list, ",")
}

// visibleForm finds a list of GPUs.
var visibleForm = regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)

// gluedForm finds an option of srun with its value in one word.
var gluedForm = regexp.MustCompile(`^-([Nn])([0-9]+)$`)

// launchForm finds the variables that tell a program how many processes to start.
var launchForm = regexp.MustCompile(`^(NPROC_PER_NODE|NNODES)=(.+)$`)

// processes resolves the number of GPUs from the processes that are started, one for each. It is a
// problem where the degrees do not divide it.
func (r *reader) processes(gpus, line int) {
	if r.started = line; gpus <= 0 || gpus > layout.MaxGPUs {
		r.unknown("gpus", cmp.Or(r.launched, "the number of GPUs is not in the file"), line)
		return
	}
	r.Setup["gpus"] = gpus
	r.Understood = append(r.Understood, Understood{
		Key: processes, Value: gpus, Setup: []string{"gpus"},
		Line: line,
	})
	tp, pp, cp := r.number("tp", 1), r.number("pp", 1), r.number("cp", 1)
	if rank := times(tp, pp, cp); rank > 0 && gpus%rank != 0 && !r.lost["tp"] && !r.lost["pp"] &&
		!r.lost["cp"] {
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool { return u.Key == processes })
		r.unknown("gpus",
			fmt.Sprintf("%s: %d is no multiple of tp %d x pp %d x cp %d = %d, so the file cannot run as it "+
				"is", processes, gpus, tp, pp, cp, rank), line)
	}
}
