package logs

// format is how a launcher logs steps, or memory, on one line.
type format struct {
	launcher string
	source   string // where the line is written
	mark     string // what the line contains
	not      string // what it does not contain; empty: anything
	fields   []field
}

// field is a number of a line: it follows a text, and is so many of the unit of what it goes into.
type field struct {
	after string
	into  func(*Sample) *float64
	times float64
}

// Units of the fields, in seconds and GiB.
const (
	milli = 1e-3
	mib   = 1.0 / (1 << 10)
	octet = 1.0 / (1 << 30)
)

// formats lists the lines that are read. A launcher's step is what has an iteration; what has
// none adds to the job. Texts are those of the sources named. nanotron rounds to three digits
// (human_format, src/nanotron/logging/base.py).
func formats() []format {
	iteration := func(s *Sample) *float64 { return &s.Iteration }
	seconds := func(s *Sample) *float64 { return &s.Seconds }
	tflops := func(s *Sample) *float64 { return &s.TFLOPs }
	tokens := func(s *Sample) *float64 { return &s.TokensPerGPU }
	samples := func(s *Sample) *float64 { return &s.Samples }
	batch := func(s *Sample) *float64 { return &s.Batch }
	allocated := func(s *Sample) *float64 { return &s.Allocated }
	reserved := func(s *Sample) *float64 { return &s.Reserved }
	device := func(s *Sample) *float64 { return &s.Device }
	return []format{
		{
			"megatron", "NVIDIA/Megatron-LM@86df799:megatron/training/training.py, training_log",
			"elapsed time per iteration (ms):", "",
			[]field{
				{"iteration", iteration, 1},
				{"elapsed time per iteration (ms):", seconds, milli},
				{"throughput per GPU (TFLOP/s/GPU):", tflops, 1},
				{"global batch size:", batch, 1},
			},
		},
		{
			"megatron", "NVIDIA/Megatron-LM@00caa53:megatron/training/utils.py, report_memory",
			"memory (MB) | allocated:", "",
			[]field{
				{"max allocated:", allocated, mib},
				{"max reserved:", reserved, mib},
				{"total device memory used:", device, mib},
			},
		},
		{
			"torchtitan", "pytorch/torchtitan@00fbaaf:torchtitan/components/metrics.py, log", "tps:",
			"validate",
			[]field{
				{"step:", iteration, 1},
				{"memory:", reserved, 1},
				{"tps:", tokens, 1},
				{"tflops:", tflops, 1},
			},
		},
		{
			"nanotron", "huggingface/nanotron@b21538c:src/nanotron/trainer.py, train_step_logs",
			"elapsed_time_per_iteration_ms:", "",
			[]field{
				{"iteration:", iteration, 1},
				{"elapsed_time_per_iteration_ms:", seconds, milli},
				{"tokens_per_sec_per_gpu:", tokens, 1},
				{"model_tflops_per_gpu:", tflops, 1},
				{"global_batch_size:", batch, 1},
				{"cuda_max_memory_reserved:", reserved, octet},
			},
		},
		{
			"nanotron", "huggingface/nanotron@a5f8fb1:src/nanotron/logging/base.py, log_memory",
			"Peak allocated", "",
			[]field{
				{"Peak allocated", allocated, mib},
				{"Peak reserved:", reserved, mib},
			},
		},
		{
			"deepspeed", "deepspeedai/DeepSpeed@cb00352:deepspeed/utils/timer.py, ThroughputTimer.stop",
			"CurrSamplesPerSec=", "",
			[]field{
				{"global_step=", iteration, 1},
				{"CurrSamplesPerSec=", samples, 1},
				{"MaxMemAllocated=", allocated, 1}, // its GB are 1024^3 bytes
			},
		},
		{
			"deepspeed", "deepspeedai/DeepSpeed@cb00352:deepspeed/runtime/pipe/engine.py, train_batch",
			"iter time (s):", "",
			[]field{
				{"step", iteration, 1},
				{"iter time (s):", seconds, 1},
				{"samples/sec:", samples, 1},
			},
		},
	}
}
