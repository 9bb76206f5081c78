package launch

import (
	"meshscope/engine"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// lack is a key of the setup that a file has no place for, where it counts.
type lack struct {
	key, why string
	where    func(s *engine.Setup) bool
}

// notCarried returns what a file does not say of a setup.
func notCarried(rows []lack, s *engine.Setup) []NotCarried {
	var out []NotCarried
	for _, row := range rows {
		if row.where(s) {
			out = append(out, NotCarried{Key: row.key, Why: row.why})
		}
	}
	return out
}

// ofDeepSpeed says which file has ZeRO++.
const ofDeepSpeed = "ZeRO++ is told by the JSON of DeepSpeed, which --for deepspeed writes"

// everyLack lists what no launcher's file says: the machine and how it is modelled.
func everyLack() []lack {
	return []lack{
		{"cluster", "GPUs and network are where the job runs", always},
		{
			"calibration", "the software whose speed is predicted is what is installed",
			func(s *engine.Setup) bool { return s.Stack != recipe.DefaultStack },
		},
		{"mfu", "how this program counts", func(s *engine.Setup) bool { return s.MFU != recipe.MFUCausal }},
		{
			"imbalance", "an assumption about the router",
			func(s *engine.Setup) bool { return s.ExpertLoad() > 1 },
		},
		{
			"comm_overlap", "an assumption of the prediction",
			func(s *engine.Setup) bool { return s.Overlap != "" && s.Overlap != recipe.OverlapAuto },
		},
		{"tokens", "only whole steps of it", func(s *engine.Setup) bool { return s.Budget > 0 }},
		{"price", "it changes the bill alone", func(s *engine.Setup) bool { return s.Price > 0 }},
		{"power", "it changes the bill alone", func(s *engine.Setup) bool { return s.Power > 0 }},
		{"pue", "it changes the bill alone", func(s *engine.Setup) bool { return s.PUE > 0 }},
		{"facility_pue", "it changes the bill alone", func(s *engine.Setup) bool { return s.Site > 0 }},
		{"goodput", "it changes the whole run alone", func(s *engine.Setup) bool { return s.Goodput > 0 }},
		{"lora", "the script decides what is trained", func(s *engine.Setup) bool { return s.Frozen() }},
		{
			"lora_targets", "the script decides which products have adapters",
			func(s *engine.Setup) bool { return s.Targets != "" },
		},
		{"dora", "the script decides what is trained", func(s *engine.Setup) bool { return s.DoRA }},
		{
			"base_dtype", "the script decides in which format it loads the weights",
			func(s *engine.Setup) bool { return s.BaseDtype != "" },
		},
		{
			"weight_dtype", "of the weights as the script loads them",
			func(s *engine.Setup) bool { return s.WeightDtype != "" },
		},
		{"optimizer_in_backward", "the script decides when it updates", func(s *engine.Setup) bool {
			return s.InBackward
		}},
		{"cp_comm", "one kind with cp over 1, none with cp 1", func(s *engine.Setup) bool {
			return s.CPComm != "" && !s.SharesHeads()
		}},
		{"hpz", ofDeepSpeed, func(s *engine.Setup) bool { return s.HPZ > 0 }},
		{"qwz", ofDeepSpeed, func(s *engine.Setup) bool { return s.QWZ }},
		{"qgz", ofDeepSpeed, func(s *engine.Setup) bool { return s.QGZ }},
		{"compile", "a switch of the code that it starts", func(s *engine.Setup) bool { return s.Compile }},
	}
}

// megatronLacks lists what flags of Megatron-LM do not say.
func megatronLacks() []lack {
	dense := func(s *engine.Setup) bool { return !s.Model.IsMoE() }
	given := func(word string) bool { return word != "" && word != recipe.Auto }
	return append(everyLack(), []lack{
		{
			"schedule", "no pipeline, no order of it",
			func(s *engine.Setup) bool { return s.PP == 1 && s.Schedule != schedule.OneFOneB },
		},
		{
			"max_in_flight", "only the schedule zb-auto reads it",
			func(s *engine.Setup) bool { return s.MaxInFlight > 0 },
		},
		{
			"group_size", "without effect but with vpp",
			func(s *engine.Setup) bool { return s.GroupSize > 0 && s.VPP == 1 },
		},
		{
			"hsdp", "without effect but with zero",
			func(s *engine.Setup) bool { return s.Replicas() > 1 && s.ZeRO == 0 },
		},
		{
			"split", "without effect but with pp",
			func(s *engine.Setup) bool { return s.Split != "" && s.Stages() == 1 },
		},
		{
			"grad_dtype", "fp32 has gradients in fp32",
			func(s *engine.Setup) bool {
				return s.Precision == recipe.FP32 && s.GradDtype != recipe.GradFP32
			},
		},
		{
			"mtp", "the model has no such module",
			func(s *engine.Setup) bool { return s.TrainMTP && s.Model.MTPLayers == 0 },
		},
		{
			"tp_overlap", "auto stands for what runs of this stack do on average; the file has none of it",
			func(s *engine.Setup) bool { return s.TP > 1 && !given(string(s.TPOverlap)) },
		},
		{"sp", "without effect at tp 1", func(s *engine.Setup) bool { return s.SP && s.TP == 1 }},
		{
			"tp_overlap", "without effect at tp 1",
			func(s *engine.Setup) bool { return s.TP == 1 && given(string(s.TPOverlap)) },
		},
		{
			"dispatcher", "without effect but with experts",
			func(s *engine.Setup) bool { return dense(s) && given(string(s.Dispatcher)) },
		},
		{
			"ep_overlap", "without effect but with experts",
			func(s *engine.Setup) bool { return dense(s) && given(string(s.EPOverlap)) },
		},
		{
			"grouped_mlp", "without effect but with experts",
			func(s *engine.Setup) bool { return dense(s) && given(string(s.GroupedMLP)) },
		},
		{
			"attention_precision", "without effect but with fp8 and nvfp4",
			func(s *engine.Setup) bool { return !s.Precision.Narrow() && given(string(s.Attending)) },
		},
		{
			modelPrefix + "max_seq", "only learned positions have a table of them",
			func(s *engine.Setup) bool { return s.Model.Position != model.PositionLearned },
		},
		{
			modelPrefix + "n_shared_experts", "only their width in all is written",
			func(s *engine.Setup) bool { return s.Model.SharedExperts > 0 },
		},
		{
			modelPrefix + "mtp_layers", "not trained",
			func(s *engine.Setup) bool { return s.Model.MTPLayers > 0 && !s.TrainMTP },
		},
		{
			modelPrefix + "params_extra", "no flag has them",
			func(s *engine.Setup) bool { return s.Model.ExtraParams > 0 },
		},
	}...)
}
