/**
 * Random programs: under aborts, timeouts, terminated threads and exits, each task settles once, has its effect at
 * most once, and is not affected by the end of another.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inNode, openWarm, until } from '../../tests/pool/pools.js';
import { TimeoutError } from '../sync/errors.js';
import { PoolClosedError, ThreadEndedError } from './index.js';

const kinds = ['spin', 'spin', 'spin', 'later', 'loop', 'cooperative', 'throw', 'exit'] as const;

const ways = ['abort', 'timeout', 'runTimeout'] as const;

interface Step {
  readonly kind: (typeof kinds)[number];
  /** Milliseconds, of the task. */
  readonly duration: number;
  /** In how many milliseconds it is given up, and how. */
  readonly giveUp: readonly [(typeof ways)[number], number] | undefined;
  readonly priority: number;
  /** Whether the next is run in a later turn. */
  readonly pause: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  // In a browser a thread that closes itself goes on until it returns to its event loop.
  kind: fc.constantFrom(...kinds.filter((kind) => inNode || kind !== 'exit')),
  duration: fc.constantFrom(0, 0, 0.05, 0.3, 2),
  giveUp: fc.option(fc.tuple(fc.constantFrom(...ways), fc.constantFrom(0, 0, 1, 4)), {
    nil: undefined,
    freq: 2,
  }),
  priority: fc.constantFrom(0, 0, 0, 1, -1),
  pause: fc.boolean(),
});

const programs = fc.record({
  threads: fc.integer({ min: 1, max: 3 }),
  recycle: fc.constantFrom(undefined, { tasks: 7 }),
  steps: fc.array(step, { minLength: 1, maxLength: 60 }),
  end: fc.constantFrom('close', 'shutdown', 'terminate', 'nothing'),
});

const turn = () => new Promise((resolve) => setTimeout(resolve));

test('random programs', async () => {
  await fc.assert(
    fc.asyncProperty(programs, async ({ threads, recycle, steps, end }) => {
      const { pool, board } = await openWarm({ threads, grace: 2, recycle });
      const { completed: before } = pool.metrics;
      const outcomes: Promise<unknown>[] = [];
      let settled = 0;
      const begun: number[] = [];
      for (const { kind, duration, giveUp, priority, pause } of steps) {
        const words = board.take(3);
        begun.push(words);
        const controller = new AbortController();
        const [how, when] = giveUp ?? [];
        // What never ends has to be given up.
        const isEndless = kind === 'loop' || kind === 'cooperative';
        const timeout = how === 'timeout' ? when : undefined;
        const runs = how === 'runTimeout' || (isEndless && how !== 'abort');
        const runTimeout = runs ? (how === 'runTimeout' ? when : 3) : undefined;
        const options = { signal: controller.signal, timeout, runTimeout, priority };
        const run = () => {
          if (kind === 'spin') return pool.run('spin', [duration, words, words + 1], options);
          if (kind === 'later') return pool.run('spinLater', [duration, words, words + 1], options);
          if (kind === 'loop') return pool.run('loop', [words], options);
          if (kind === 'throw') return pool.run('countAndThrow', [words], options);
          if (kind === 'exit') return pool.run('countAndExit', [words], options);
          return pool.run('loopUntilAborted', [words], options);
        };
        const outcome = run().then(
          (value) => ({ value }),
          (error: unknown) => ({ error, effects: board.at(words) }),
        );
        outcomes.push(outcome.finally(() => settled++));
        if (how === 'abort') {
          if (when === 0) controller.abort('given up');
          else setTimeout(() => controller.abort('given up'), when);
        }
        if (pause) await turn();
      }
      if (end === 'close') await pool.close();
      if (end === 'shutdown') await pool.shutdown();
      if (end === 'terminate') await pool.terminate();
      const results = (await Promise.all(outcomes)) as { value?: unknown; error?: unknown }[];
      if (end === 'nothing') await until(() => pool.waiting + pool.running === 0);
      expect(settled).toBe(steps.length);

      let [completed, failed, cancelled] = [0, 0, 0];
      for (const [index, result] of results.entries()) {
        const { kind, giveUp } = steps[index] as Step;
        const effects = board.at(begun[index] as number);
        expect(effects).toBeLessThanOrEqual(1);
        if (!('error' in result)) {
          completed++;
          expect(['spin', 'later', ...(inNode ? [] : ['exit'])]).toContain(kind);
          expect(effects).toBe(1);
          if (kind !== 'exit') expect(board.at((begun[index] as number) + 1)).toBe(1);
          continue;
        }
        const { error } = result;
        if (error instanceof PoolClosedError) {
          expect(['close', 'terminate']).toContain(end);
          if (end === 'close') expect(effects).toBe(0);
          cancelled++;
        } else if (error === 'given up' || error instanceof TimeoutError) {
          // With a timeout of 0 it was not taken at all.
          if (!/ not begun within 0 ms$/.test((error as Error).message ?? '')) cancelled++;
          if (error === 'given up') expect(giveUp?.[0]).toBe('abort');
        } else {
          failed++;
          // It has failed by itself, not with another task.
          expect(effects).toBe(1);
          if (kind === 'throw') expect((error as Error).message).toBe('thrown');
          else {
            expect(error).toBeInstanceOf(ThreadEndedError);
            expect(kind).toBe('exit');
          }
        }
      }
      // What was aborted at once has never begun; nothing may begin later.
      const effects = begun.map((word) => board.at(word));
      const metrics = pool.metrics;
      expect([metrics.completed - before, metrics.failed, metrics.cancelled]).toEqual([
        completed,
        failed,
        cancelled,
      ]);
      if (end === 'nothing') {
        expect(await pool.run('echo', ['fine'])).toBe('fine');
        expect(begun.map((word) => board.at(word))).toEqual(effects);
      }
      await pool.terminate();
    }),
    { numRuns: 60, endOnFailure: true },
  );
}, 240_000);
