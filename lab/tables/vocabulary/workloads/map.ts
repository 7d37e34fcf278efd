/** Inputs through an async function, ten at once. */
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { MapForm } from '../subject.js';

const atOnce = 10;
const resolved = Promise.resolve();

export function mapped(length: number) {
  const inputs = Array.from({ length }, (_, index) => index);

  return ({ map, limitsNothing }: MapForm, library: unknown): Workload => {
    let running = 0;
    let most = 0;

    async function double(input: number): Promise<number> {
      running += 1;
      if (running > most) most = running;
      await resolved;
      running -= 1;
      return 2 * input;
    }

    async function batch(): Promise<void> {
      const results = await map(library, inputs, double, atOnce);
      expectCount('results', results.length, length);
      const wrong = results.reduce((sum, result, index) => sum + (result === 2 * index ? 0 : 1), 0);
      expectCount('wrong results', wrong, 0);
      if (!limitsNothing && most > atOnce) expectCount('most at once', most, atOnce);
      most = 0;
    }

    return { operations: length, batch };
  };
}
