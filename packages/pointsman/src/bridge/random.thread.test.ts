/** Random programs: with many concurrent calls, each call gets exactly its own reply. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pattern } from '../../tests/bridge/pattern.js';
import { ringSizes, useBridge } from '../../tests/bridge/threads.js';

const kinds = [
  'block',
  'async',
  'batch',
  'async batch',
  'callback',
  'async callback',
  'fail',
  'async fail',
  'uncloneable',
  'cancel',
  'give up',
  'hold',
  'release',
  'host',
] as const;

interface Step {
  readonly kind: (typeof kinds)[number];
  readonly size: number;
}

function makeApi() {
  let held: (() => void)[] = [];
  const echo = (id: number, bytes: Uint8Array) => ({ id, size: bytes.length, bytes });
  return {
    echo,
    later: async (id: number, bytes: Uint8Array) => echo(id, bytes),
    fail(id: number, bytes: Uint8Array): never {
      throw Object.assign(new RangeError(`call ${id}`), { size: bytes.length });
    },
    call: async (id: number, f: (id: number) => Promise<number>) => ({ id, answer: await f(id) }),
    hold: (id: number, size: number) =>
      new Promise<{ id: number; size: number; bytes: Uint8Array }>((resolve) =>
        held.push(() => resolve(echo(id, pattern(size)))),
      ),
    release() {
      const now = held.reverse();
      held = [];
      for (const answer of now) answer();
    },
  };
}

describe.each(ringSizes)('%s', (_, config) => {
  const all = useBridge(makeApi(), {
    ...config,
    serve: () => ({ echo: (id: number, bytes: Uint8Array) => ({ id, bytes }) }),
  });

  const play = (steps: readonly Step[]) =>
    all.run(async ({ host, caught, pattern, isPattern }, steps) => {
      const wrong: string[] = [];
      const open: Promise<unknown>[] = [];
      type Echo = { id: number; size: number; bytes: Uint8Array };
      const check = (id: number, size: number, answer: Echo) => {
        if (answer.id !== id || answer.size !== size || !isPattern(answer.bytes, size)) {
          wrong.push(`${id} of ${size} got ${answer.id} of ${answer.size}`);
        }
      };
      const checkError = (
        id: number,
        name: string,
        message: string,
        { ...error }: Error | object,
      ) => {
        const { name: found, message: text } = error as Error;
        if (found !== name || (message && text !== message)) wrong.push(`${id}: ${found} ${text}`);
      };
      for (const [index, { kind, size }] of steps.entries()) {
        const id = index * 10;
        switch (kind) {
          case 'block':
            check(id, size, host.echo(id, pattern(size)));
            check(id, 3, host.later(id, pattern(3)));
            break;
          case 'async':
            open.push(host.async.echo(id, pattern(size)).then((answer) => check(id, size, answer)));
            open.push(host.async.later(id, pattern(9)).then((answer) => check(id, 9, answer)));
            break;
          case 'batch': {
            const answers = host.batch((calls) => [
              calls.echo(id, pattern(size)),
              calls.later(id + 1, pattern(5)),
              calls.echo(id + 2, pattern(size)),
            ]);
            for (const [at, answer] of answers.entries())
              check(id + at, at === 1 ? 5 : size, answer);
            break;
          }
          case 'async batch':
            open.push(
              host.async
                .batch((calls) => [
                  calls.later(id, pattern(size)),
                  calls.echo(id + 1, pattern(size)),
                ])
                .then((answers) => {
                  for (const [at, answer] of answers.entries()) check(id + at, size, answer);
                }),
            );
            break;
          case 'callback': {
            const answer = host.call(id, (given) => {
              check(id, size, host.echo(id, pattern(size)));
              return given + 1;
            });
            if (answer.id !== id || answer.answer !== id + 1) wrong.push(`${id}: callback`);
            break;
          }
          case 'async callback':
            open.push(
              host.async
                .call(id, (given) => given + 1)
                .then((answer) => {
                  if (answer.id !== id || answer.answer !== id + 1) wrong.push(`${id}: callback`);
                }),
            );
            break;
          case 'fail':
            checkError(
              id,
              'RangeError',
              `call ${id}`,
              await caught(() => host.fail(id, pattern(size))),
            );
            break;
          case 'async fail': {
            const failed = caught(() => host.async.fail(id, pattern(size)));
            open.push(failed.then((error) => checkError(id, 'RangeError', `call ${id}`, error)));
            break;
          }
          case 'uncloneable': {
            const bad = { shape: { id }, symbol: Symbol('bad') } as never;
            checkError(id, 'DataCloneError', '', await caught(() => host.echo(id, bad)));
            break;
          }
          case 'cancel': {
            const controller = new AbortController();
            const { signal } = controller;
            const call = caught(() => host.with({ signal }).async.hold(id, size));
            open.push(call.then((error) => checkError(id, 'AbortError', '', error)));
            if (size % 2) await null;
            controller.abort();
            break;
          }
          case 'give up': {
            const error = await caught(() => host.with({ timeout: 0 }).hold(id, size));
            checkError(id, 'TimeoutError', '', error);
            break;
          }
          case 'hold':
            open.push(host.async.hold(id, size).then((answer) => check(id, size, answer)));
            break;
          case 'release':
            if (size % 2) host.release();
            else open.push(host.async.release());
            break;
          default:
            await host.async.echo(id, pattern(0));
        }
      }
      host.release();
      await Promise.all(open);
      return wrong;
    }, steps);

  test('each call gets its own reply', { timeout: 60_000 }, async () => {
    const step = fc.record({
      kind: fc.constantFrom(...kinds),
      size: fc.oneof(fc.nat(40), fc.nat(3_000), fc.nat(20_000)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
        const playing = play(steps);
        // Calls of the host run between these.
        for (const [id, { kind, size }] of steps.entries()) {
          if (kind !== 'host') continue;
          const answer = await all.bridge.worker.echo(id, pattern(size));
          expect([answer.id, answer.bytes]).toEqual([id, pattern(size)]);
        }
        expect(await playing).toEqual([]);
      }),
      // A failed or hung program leaves the bridge unusable for another program.
      { numRuns: 60, timeout: 10_000, endOnFailure: true },
    );
  });
});
