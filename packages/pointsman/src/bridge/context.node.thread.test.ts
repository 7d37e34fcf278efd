/** Callbacks run in the asynchronous context of their call, and served functions in that of `expose` or `connect`. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { bridged, transports, until } from '../../tests/bridge/threads.js';

const storage = new AsyncLocalStorage<string>();

interface AsyncHost {
  enter(request: string): Promise<void>;
  where(): Promise<string>;
}

describe.each(transports)('%s', (transport) => {
  const start = () =>
    bridged(
      {
        where: () => storage.getStore() ?? 'nowhere',
        enter: (request: string) => storage.enterWith(request),
        wait: () => new Promise(() => {}),
      },
      {
        transport,
        serve: ({ kept }) => ({
          call: async (f: () => unknown) => {
            await f();
          },
          first: async (items: AsyncIterable<unknown>) => {
            for await (const item of items) return item;
            return undefined;
          },
          enterAndCallHost: async () => {
            const { enter, where } = (kept.host as { async: AsyncHost }).async;
            const together = await Promise.all([enter('A'), where()]);
            return [together[1], await where()];
          },
          callHost: () => (kept.host as { async: AsyncHost }).async.where(),
        }),
      },
    );

  test('a function and an iterator run in the context of their own call', async () => {
    const { bridge } = await start();
    const seen = await Promise.all(
      ['A', 'B', 'C'].map((request) =>
        storage.run(request, async () => {
          const seen: unknown[] = [];
          const note = () => void seen.push(storage.getStore());
          async function* items() {
            note();
            try {
              yield 1;
              yield 2;
            } finally {
              note();
            }
          }
          await Promise.all([bridge.worker.call(note), bridge.worker.first(items())]);
          await until(() => seen.length === 3);
          return seen.join('');
        }),
      ),
    );
    expect(seen).toEqual(['AAA', 'BBB', 'CCC']);
  });

  test('a function that is passed again runs in the context of the latest call', async () => {
    const { bridge } = await start();
    const seen: unknown[] = [];
    const note = () => void seen.push(storage.getStore());
    for (const request of ['A', 'B']) {
      await storage.run(request, () => bridge.worker.call(note));
    }
    expect(seen).toEqual(['A', 'B']);
  });

  test('a function that the host serves runs in the context of `expose`', async () => {
    const { bridge } = await start();
    const seen = await Promise.all(
      ['A', 'B', 'C'].map((request) => storage.run(request, () => bridge.worker.callHost())),
    );
    expect(seen).toEqual(['nowhere', 'nowhere', 'nowhere']);
    const exposed = await storage.run('main', start);
    expect(await storage.run('A', () => exposed.bridge.worker.callHost())).toBe('main');
  });

  test('a context that a call enters does not affect the next call', async () => {
    const { bridge } = await start();
    expect(await bridge.worker.enterAndCallHost()).toEqual(['nowhere', 'nowhere']);
  });
});
