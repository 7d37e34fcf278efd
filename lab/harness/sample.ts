/**
 * Slices of workloads. A sample is the time of whole batches, in nanoseconds per operation.
 *
 * Invariant: all workloads are warm before the first slice, because they share the subject's code.
 */
import type { Lab, Samples, Slice } from './table.js';
import type { Workload } from './workload.js';

/** The measure of the processor time of all threads of this process, beside that of the elapsed time. */
export function processorTimeOf(measure: string): string {
  return `${measure}, processor time`;
}

/** The processor time of all threads of this process so far. */
export function usedMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Warms up the workloads that the lab needs, and serves a slice of each. The keys are measures. */
export async function serveWorkloads(
  workloads: Readonly<Record<string, Workload>>,
  lab: Lab,
  warmUpMilliseconds: number,
): Promise<void> {
  const wanted = Object.entries(workloads).filter(([measure]) => lab.isWanted(measure));
  for (const [, workload] of wanted) await warmUp(workload, warmUpMilliseconds / wanted.length);
  await lab.serve(
    wanted.map(
      ([name, workload]): Slice => ({
        name,
        run: (milliseconds) => slice(name, workload, milliseconds),
      }),
    ),
  );
}

/** The limit of the elapsed time of a warm-up, as a multiple of its processor time: some workloads mostly wait. */
const waitingFactor = 5;

/** Warms up by processor time, because on a busy machine less code runs and is compiled in the same elapsed time. */
async function warmUp({ batch, beforeEach }: Workload, milliseconds: number): Promise<void> {
  const usedBefore = usedMicroseconds();
  const startedAt = performance.now();
  const isCold = () => usedMicroseconds() - usedBefore < milliseconds * 1e3;
  do {
    beforeEach?.();
    await batch();
  } while (isCold() && performance.now() - startedAt < waitingFactor * milliseconds);
}

async function slice(
  measure: string,
  { batch, beforeEach, operations }: Workload,
  milliseconds: number,
): Promise<Samples> {
  let elapsed = 0;
  let used = 0;
  let batches = 0;
  do {
    beforeEach?.();
    const usedBefore = usedMicroseconds();
    const startedAt = performance.now();
    await batch();
    elapsed += performance.now() - startedAt;
    used += usedMicroseconds() - usedBefore;
    batches += 1;
  } while (elapsed < milliseconds);
  return {
    [measure]: (elapsed * 1e6) / batches / operations,
    [processorTimeOf(measure)]: used / batches / operations,
  };
}
