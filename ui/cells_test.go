package ui

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/knob"
	"meshscope/engine/schedule"
)

// Cells with their kind and their micro-batch, and the lines of ranks that they stand on.
var (
	forwardCell  = regexp.MustCompile(`[Ff][0-9]+`)
	backwardCell = regexp.MustCompile(`[BbIi][0-9]+`)
	rankLine     = regexp.MustCompile(`^[▸ ]? *[0-9]+│`)
)

// TestPipelineOpensWithCells: whatever the model, the schedule, the chunks of a rank and the terminal,
// Pipeline opens with cells that say what they are, of forwards and of backwards: six for a rank, of
// four ranks; shares of time are there only when they are asked for.
func TestPipelineOpensWithCells(t *testing.T) {
	for _, start := range []struct {
		model, cluster string
		given          knob.Given
	}{
		{"llama3.1-70b", "dgx-h100", knob.Given{
			knob.GPUs: 256, knob.TP: 4, knob.PP: 4, knob.VPP: 10,
			knob.CP: 2, knob.GBS: 512,
		}},
		{"llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 1, knob.PP: 4, knob.GBS: 64}},
		{"llama3.1-405b", "meta-roce-24k", knob.Given{
			knob.GPUs: 16384, knob.TP: 8, knob.PP: 16,
			knob.GBS: 2048,
		}},
		{"mixtral-8x22b", "dgx-h100", knob.Given{
			knob.GPUs: 128, knob.TP: 2, knob.PP: 8, knob.VPP: 7,
			knob.EP: 8, knob.GBS: 256,
		}},
		{"deepseek-v3", "deepseek-h800", knob.Given{
			knob.GPUs: 2048, knob.PP: 16, knob.EP: 64,
			knob.GBS: 15360, knob.Seq: 4096, knob.Schedule: schedule.DualPipe,
		}},
		{"qwen3-235b-a22b", "dgx-h100", knob.Given{
			knob.GPUs: 256, knob.TP: 2, knob.PP: 8, knob.EP: 8,
			knob.GBS: 512, knob.Schedule: schedule.ZBH1,
		}},
		{"qwen3-30b-a3b", "dgx-h100", knob.Given{
			knob.GPUs: 64, knob.TP: 1, knob.PP: 4, knob.EP: 8,
			knob.GBS: 512, knob.Schedule: schedule.DualPipeV,
		}},
		{"gpt3-175b", "selene", knob.Given{
			knob.GPUs: 1024, knob.TP: 8, knob.PP: 32, knob.GBS: 1536,
			knob.Schedule: schedule.AFAB,
		}},
		{"megatron-1008b", "selene", knob.Given{
			knob.GPUs: 3072, knob.TP: 8, knob.PP: 64, knob.VPP: 2,
			knob.GBS: 3072,
		}},
		{"kimi-k2", "deepseek-h800", knob.Given{
			knob.GPUs: 1024, knob.TP: 1, knob.PP: 16, knob.EP: 64,
			knob.GBS: 4096, knob.Schedule: schedule.ZBV,
		}},
		{"gpt-oss-120b", "dgx-h100", knob.Given{
			knob.GPUs: 64, knob.TP: 1, knob.PP: 2, knob.VPP: 2,
			knob.EP: 8, knob.GBS: 512, knob.Schedule: schedule.LoopedBFS,
		}},
		{"llama2-13b", "dgx-a100", knob.Given{knob.GPUs: 8, knob.TP: 1, knob.PP: 8, knob.GBS: 512}},
	} {
		t.Run(start.model, func(t *testing.T) {
			m := New(Options{
				Setup: setupOf(t, start.model, start.cluster, start.given), Calm: true,
				Env: []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"},
			})
			send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
			m.state.Tab = PipelineTab
			least := 6 * min(4, m.now.setup.PP)
			for _, profile := range []colorprofile.Profile{
				colorprofile.ANSI256, colorprofile.ANSI,
				colorprofile.ASCII,
			} {
				for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
					send(m, tea.ColorProfileMsg{Profile: profile},
						tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					text := ansi.Strip(m.View().Content)
					forward, backward := labelled(text)
					if forward+backward < least || forward < least/4 || backward < least/4 ||
						strings.Contains(text, "shares of") {
						t.Errorf("%v, %v: %d cells of forwards, %d of backwards:\n%s", profile, size, forward,
							backward, text)
						continue
					}
					send(m, press("0"))
					forward, backward = labelled(ansi.Strip(m.View().Content))
					if perRank := len(m.now.report.Timeline.Order.Ops) / m.now.setup.PP; perRank > size[0] &&
						forward+backward >= least {
						t.Errorf("%v, %v: 0 does not show the whole step", profile, size)
					}
					if send(m, press("1")); ansi.Strip(m.View().Content) != text {
						t.Errorf("%v, %v: 1 does not show what the screen opened with", profile, size)
					}
				}
			}
		})
	}
}

// labelled counts cells of forwards and backwards in a frame.
func labelled(text string) (forward, backward int) {
	for line := range strings.SplitSeq(text, "\n") {
		if rankLine.MatchString(line) {
			forward += len(forwardCell.FindAllString(line, -1))
			backward += len(backwardCell.FindAllString(line, -1))
		}
	}
	return forward, backward
}
