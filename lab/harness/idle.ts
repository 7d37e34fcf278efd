/** The processor time of a process and its descendants while they should be idle. */
import {
  descendantsOf,
  millisecondsBetween,
  type ProcessorTime,
  readProcessorTime,
} from './processor-time.js';

/** Begins to count. The returned function returns the share of a core used since; undefined without /proc. */
export function idleShareOf(process: number | undefined): () => number | undefined {
  const read = (): ProcessorTime =>
    process === undefined ? new Map() : readProcessorTime([process, ...descendantsOf(process)]);
  const before = read();
  const startedAt = performance.now();
  return () =>
    before.size === 0
      ? undefined
      : millisecondsBetween(before, read()) / (performance.now() - startedAt);
}
