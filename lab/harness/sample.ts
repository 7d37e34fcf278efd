/**
 * Timing of workloads by tinybench: all are warmed up before the first is measured, as they share
 * the subject's code. Invariant: one sample is one whole batch, in nanoseconds per operation.
 */
import { Bench } from 'tinybench';
import type { Budget } from './table.js';
import type { Workload } from './workload.js';

/** By measure. The budget is for all of them together. */
export async function sample(
  workloads: Readonly<Record<string, Workload>>,
  { warmupMilliseconds, measureMilliseconds }: Budget,
): Promise<Record<string, number[]>> {
  const entries = Object.entries(workloads);
  const bench = new Bench({
    time: measureMilliseconds / entries.length,
    iterations: 1,
    warmupTime: warmupMilliseconds / entries.length,
    warmupIterations: 1,
    retainSamples: true,
    throws: true,
  });
  const samples: Record<string, number[]> = {};
  for (const [measure, workload] of entries) {
    const first = await once(workload);
    // One batch alone takes longer than all was meant to take: it says what there is to say.
    if (first > warmupMilliseconds + measureMilliseconds) samples[measure] = [first];
    else add(bench, measure, workload);
  }
  await bench.run();
  for (const { name, result } of bench.tasks) {
    samples[name] = 'latency' in result ? [...(result.latency.samples ?? [])] : [];
  }
  return Object.fromEntries(
    entries.map(([measure, { operations }]) => [
      measure,
      (samples[measure] ?? []).map((milliseconds) => (milliseconds * 1e6) / operations),
    ]),
  );
}

function add(bench: Bench, measure: string, { batch, beforeEach }: Workload): void {
  bench.add(measure, batch, beforeEach ? { beforeEach } : {});
}

async function once({ batch, beforeEach }: Workload): Promise<number> {
  beforeEach?.();
  const startedAt = performance.now();
  await batch();
  return performance.now() - startedAt;
}
