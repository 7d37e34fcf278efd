/** The measurements of a loop of tasks. */
export interface Throughput {
  /** Tasks per second, by sample. */
  readonly perSecond: readonly number[];
  /** Of this process with all its threads, in microseconds per task, by sample. */
  readonly processorTime: readonly number[];
}

/** The samples of a row and of the processor time beside it. */
export function samplesOf(measure: string, { perSecond, processorTime }: Throughput) {
  return { [measure]: perSecond, [processorTimeOf(measure)]: processorTime };
}

/** The name of the processor time measure beside another. */
export function processorTimeOf(measure: string): string {
  return `${measure}, processor`;
}

/** Of this process with all its threads so far, in microseconds. */
export function usedMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
