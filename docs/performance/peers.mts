// Times one evaluation and a search of the browser simulator:
//
//	node --experimental-strip-types peers.mts FOLDER
//
// prints {"evaluation_us": ..., "search_per_second": ..., "searched": ...}.
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const core = (file: string) => import(pathToFileURL(resolve(process.argv[2], 'src/core', file)).href);
const { getSimulationMetrics } = await core('simulation/engine.ts');
const { optimizeTraining } = await core('simulation/optimizer.ts');
const { createMultiNodeCluster } = await core('hardware/topology.ts');

const setup = (gpu: string, modelId: string, tp: number, pp: number, batch: number, seq: number) => ({
  clusterConfig: createMultiNodeCluster(gpu, 8, 8)!,
  modelId, globalBatchSize: batch, microBatchSize: 1, sequenceLength: seq,
  strategyType: 'fsdp-tp-pp',
  strategyConfig: { tp, pp, sequenceParallel: true, pipelineSchedule: '1f1b' },
  activationCheckpointing: true, checkpointingGranularity: 'selective',
  flashAttention: true, mixedPrecision: 'bf16',
});

const evaluated = setup('a100-80gb', 'gpt3-175b', 8, 8, 64, 2048);
for (let i = 0; i < 2000; i++) getSimulationMetrics(evaluated); // until it is compiled
let count = 0;
let start = performance.now();
while (performance.now() - start < 3000) {
  getSimulationMetrics(evaluated);
  count++;
}
const us = ((performance.now() - start) / count) * 1000;

const problem = setup('h100-sxm', 'llama3.3-70b', 8, 2, 512, 8192);
optimizeTraining(problem, 15e12, 8192);
start = performance.now();
const found = optimizeTraining(problem, 15e12, 8192);
const seconds = (performance.now() - start) / 1000;
console.log(JSON.stringify({
  evaluation_us: us,
  search_per_second: found.totalSimulations / seconds,
  searched: `${found.totalSimulations} simulations in ${(seconds * 1000).toFixed(0)} ms`,
}));
