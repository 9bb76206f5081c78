"""Times one evaluation, and a search where there is one, of another engine.

    python3 peers.py calculon FOLDER
    python3 peers.py llm-analysis FOLDER

prints {"evaluation_us": ..., "search_per_second": ..., "searched": ...}.
"""

import glob
import json
import logging
import os
import sys
import time


def timed(run, seconds=3.0):
    """Microseconds of one run, the first one left out."""
    run()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        run()
        count += 1
    return (time.perf_counter() - start) / count * 1e6


def calculon(folder):
    """GPT-3 175B as its own validation runs it: 64 A100, TP 8, PP 8."""
    sys.path.insert(0, folder)
    from calculon.io import read_json_file
    from calculon.llm import Llm
    from calculon.system import System

    logger = logging.Logger("quiet", level=logging.CRITICAL)
    models = [path for path in sorted(glob.glob(f"{folder}/models/*175B*.json")) if os.path.isfile(path)]
    application = Llm.Application(read_json_file(models[0]))
    execution = Llm.Execution.from_json(read_json_file(f"{folder}/validation/seqsel/tab5/gpt3-175B_seqsel.json"))
    system = System(read_json_file(f"{folder}/systems/a100_80e.json"))

    def run():
        model = Llm(application, logger)
        model.compile(system, execution)
        model.run(system)

    return {"evaluation_us": timed(run), "search_per_second": 0, "searched": "its search of one problem takes minutes: not run"}


def llm_analysis(folder):
    """The same model and layout; it takes the efficiency as given."""
    sys.path.insert(0, folder)
    logging.disable(logging.CRITICAL)
    from llm_analysis.analysis import ActivationRecomputation, LLMAnalysis
    from llm_analysis.config import (ParallelismConfig, get_dtype_config_by_name, get_gpu_config_by_name,
                                     get_model_config_by_name)

    model = get_model_config_by_name("facebook_opt-175b")
    gpu = get_gpu_config_by_name("a100-sxm-80gb")
    dtype = get_dtype_config_by_name("w16a16e16")
    layout = ParallelismConfig(tp_size=8, pp_size=8, dp_size=1)

    def run():
        LLMAnalysis(model, gpu, dtype, layout, achieved_tflops=140).training(
            batch_size_per_gpu=1, total_num_tokens=300e9, activation_recomputation=ActivationRecomputation.FULL)

    return {"evaluation_us": timed(run), "search_per_second": 0, "searched": ""}


if __name__ == "__main__":
    engine, where = sys.argv[1:3]
    where = os.path.abspath(os.path.expanduser(where))
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w")
    answer = {"calculon": calculon, "llm-analysis": llm_analysis}[engine](where)
    sys.stdout = stdout
    print(json.dumps(answer))
