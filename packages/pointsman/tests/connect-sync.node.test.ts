/** `connectSync` starts a module in a worker of Node, as the package is built. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type ConnectSyncOptions, connectSync, expose, transfer } from 'pointsman/bridge';
import { describe, expect, onTestFinished, test } from 'vitest';

const functions = new URL('./bridge/sync/functions.mjs', import.meta.url);
const entry = pathToFileURL(createRequire(import.meta.url).resolve('pointsman/bridge')).href;

type Functions = typeof import('./bridge/sync/functions.mjs');

function start(options?: ConnectSyncOptions) {
  const worker = connectSync<Functions>(functions, options);
  onTestFinished(() => worker.close());
  return worker;
}

const moduleOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

function startCode<Api>(code: string, options?: ConnectSyncOptions) {
  const worker = connectSync<Api>(moduleOf(code), options);
  onTestFinished(() => worker.close());
  return worker;
}

/** Runs a program of this folder. Resolves with its output when it has ended by itself. */
async function outputOf(code: string): Promise<string> {
  const options = ['--input-type=module', '--eval', code];
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd });
  return stdout;
}

describe('calls', () => {
  test('block from the first one on, also those of async functions', () => {
    const worker = start();
    expect(worker.later('first')).toBe('first');
    expect(worker.same({ a: [1, new Date(0), new Map([['b', 2n]])] })).toEqual({
      a: [1, new Date(0), new Map([['b', 2n]])],
    });
    expect(worker.inner.deep()).toBe('deep');
    expect(worker.default()).toBe('the default');
    expect((worker as unknown as Record<string, unknown>).constant).toBeUndefined();
  });

  test('a module of CommonJS, by its path', () => {
    const path = fileURLToPath(new URL('./bridge/sync/common.cjs', import.meta.url));
    const worker = connectSync<{ named(): string; later(n: number): Promise<number> }>(path);
    expect([worker.named(), worker.later(2)]).toEqual(['named', 2]);
    worker.close();
  });

  test('a batch, a timeout, and calls that do not block', async () => {
    const worker = start();
    expect(worker.batch((w) => [w.later(1), w.same('a')])).toEqual([1, 'a']);
    expect(() => worker.with({ timeout: 10 }).never()).toThrow(
      expect.objectContaining({
        name: 'TimeoutError',
        message: 'never() had no answer within 10 ms',
        call: 'never',
      }),
    );
    expect(worker.same(1)).toBe(1);
    expect(await worker.async.later(2)).toBe(2);
    worker.send.same(3);
    expect(worker.same(4)).toBe(4);
  });

  test('buffers move in both directions', () => {
    const worker = start();
    const buffer = new ArrayBuffer(8);
    expect(worker.size(transfer(buffer, [buffer]))).toBe(8);
    expect(buffer.byteLength).toBe(0);
    expect(worker.made(16).byteLength).toBe(16);
  });

  test('a callback runs while this thread is blocked', () => {
    const worker = start();
    expect(worker.call((n) => n + 1, 1)).toBe(2);
    expect(worker.call((n) => 2 * (worker.same(n) as number), 3)).toBe(6);
    expect(() =>
      worker.call(() => {
        throw new RangeError('in the callback');
      }, 1),
    ).toThrow(new RangeError('in the callback'));
  });

  test('a callback whose promise needs this blocked thread fails', () => {
    const worker = start({ heartbeatTimeout: 100 });
    expect(() => worker.call(async (n) => n, 1)).toThrow(
      expect.objectContaining({ name: 'DeadlockError' }),
    );
    expect(worker.same(1)).toBe(1);
  });

  test('by default it fails too', { timeout: 60_000 }, () => {
    const worker = start();
    expect(() => worker.call(async (n) => n, 1)).toThrow(
      expect.objectContaining({ name: 'DeadlockError' }),
    );
  });

  test('a worker that calls back over another bridge is refused', async () => {
    const thread = new Worker(new URL('./bridge/sync/calling-back.mjs', import.meta.url));
    onTestFinished(() => void thread.terminate());
    const bridge = expose(thread, { answer: () => 'answer' });
    const worker = connectSync<{
      callBack(): string;
      awaitBack(): Promise<string>;
      same(value: number): number;
    }>(thread);
    await bridge.ready;
    expect(await worker.async.callBack()).toBe('answer');
    expect(() => worker.callBack()).toThrow(expect.objectContaining({ name: 'DeadlockError' }));
    expect(() => worker.with({ timeout: 50 }).awaitBack()).toThrow(
      expect.objectContaining({ name: 'TimeoutError' }),
    );
    expect(worker.same(1)).toBe(1);
  });

  test('a computation may take longer than the heartbeat of other runtimes', () => {
    // In Node the default is no limit, since the end of the worker is reported.
    expect(start().compute(300)).toBe(300);
    expect(() => start({ heartbeatTimeout: 50 }).compute(300)).toThrow(
      expect.objectContaining({ name: 'UnresponsiveError' }),
    );
  });
});

describe('errors keep', () => {
  const thrownBy = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return error as Error & Record<string, unknown>;
    }
    return expect.unreachable('nothing is thrown');
  };

  test('their class, name, message, cause and own properties', () => {
    const error = thrownBy(() => start().fail());
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({
      name: 'FormatError',
      message: 'unexpected token',
      cause: new RangeError('line 3'),
      code: 'E_FORMAT',
      position: { line: 3 },
      droppedProperties: ['socket'],
    });
  });

  test('their stack, and that of the call', () => {
    const { stack } = thrownBy(() => start().failLater());
    expect(stack).toMatch(
      /failLater.*functions\.mjs[\s\S]*called by[\s\S]*connect-sync\.node\.test/,
    );
  });

  test('a thrown value that is no error', () => {
    const { stack: _, ...thrown } = thrownBy(() => start().throwValue({ a: 1 }));
    expect(thrown).toEqual({ a: 1 });
  });
});

describe('the worker', () => {
  test('gets the options of Node', () => {
    const worker = start({
      workerData: { a: 1 },
      argv: ['--first'],
      env: { NAME: 'value' },
      execArgv: ['--import', moduleOf('globalThis.isPreloaded = true;').href],
      resourceLimits: { maxOldGenerationSizeMb: 77 },
    });
    expect(worker.surroundings()).toEqual({
      workerData: { a: 1 },
      argument: '--first',
      name: 'value',
      isPreloaded: true,
      heap: 77,
    });
  });

  test.runIf('typescript' in process.features && process.features.typescript)(
    'loads TypeScript where Node does',
    () => {
      const worker = connectSync<{ typed(n: number): number }>(
        new URL('./bridge/sync/typed.mts', import.meta.url),
      );
      expect(worker.typed(1)).toBe(2);
      worker.close();
    },
  );

  test('may connect to a worker of its own', () => {
    const worker = startCode<{ outer(n: number): number }>(`
      import { connectSync } from ${JSON.stringify(entry)};
      const inner = connectSync(new URL(${JSON.stringify(functions.href)}));
      export const outer = (n) => inner.later(n) + 1;
    `);
    expect(worker.outer(1)).toBe(2);
  });

  test('writes to stdout when the host has returned to its event loop', async () => {
    const output = await outputOf(`
      import { writeSync } from 'node:fs';
      import { connectSync } from 'pointsman/bridge';
      const worker = connectSync(new URL('data:text/javascript,export const f = () => console.log("worker")'));
      worker.f();
      writeSync(1, 'host\\n');
      setTimeout(() => {}, 100);
    `);
    expect(output).toBe('host\nworker\n');
  });

  test('does not keep the process alive', async () => {
    const output = await outputOf(`
      import { connectSync } from 'pointsman/bridge';
      const code = 'setInterval(() => {}, 1000); export const f = async () => 1;';
      const worker = connectSync(new URL('data:text/javascript,' + code));
      console.log(worker.f());
    `);
    expect(output).toBe('1\n');
  });

  test('is awaited by an asynchronous call', async () => {
    const output = await outputOf(`
      import { connectSync } from 'pointsman/bridge';
      const code = 'export const f = () => new Promise((resolve) => setTimeout(resolve, 50, 2));';
      const worker = connectSync(new URL('data:text/javascript,' + code));
      worker.async.f().then(console.log);
    `);
    expect(output).toBe('2\n');
  });
});
