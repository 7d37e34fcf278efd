/** A thread that is blocked by `connectSync`, or by a call of it, learns in Node that the worker has ended. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Worker } from 'node:worker_threads';
import { BridgeClosedError, type ConnectSyncOptions, connectSync } from 'pointsman/bridge';
import { describe, expect, onTestFinished, test } from 'vitest';

const functions = new URL('./bridge/sync/functions.mjs', import.meta.url);

type Functions = typeof import('./bridge/sync/functions.mjs');

const moduleOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

function start(options?: ConnectSyncOptions) {
  const worker = connectSync<Functions>(functions, options);
  onTestFinished(() => worker.close());
  return worker;
}

function closed(call: string, text: string, cause?: unknown) {
  const message = `${call}() has no answer: ${text}`;
  const withCause = cause === undefined ? {} : { cause };
  return expect.objectContaining({ name: 'BridgeClosedError', message, call, ...withCause });
}

describe('while the module loads', () => {
  const failing: [what: string, code: string, text: string, cause?: unknown][] = [
    [
      'it throws',
      `throw Object.assign(new RangeError('not today', { cause: 'why' }), { code: 'E_DAY', f() {} })`,
      'the worker has failed: not today',
      expect.objectContaining({
        name: 'RangeError',
        message: 'not today',
        cause: 'why',
        code: 'E_DAY',
        droppedProperties: ['f'],
        stack: expect.stringContaining('data:text/javascript'),
      }),
    ],
    [
      'it throws a value that is no error',
      `throw 'a string'`,
      `the worker has failed: it has thrown "a string"`,
    ],
    [
      'it throws after an await',
      `await 1; throw new Error('later')`,
      'the worker has failed: later',
      new Error('later'),
    ],
    [
      'a callback of the event loop throws',
      `setImmediate(() => { throw new Error('elsewhere') }); await new Promise((r) => setTimeout(r, 1e4));`,
      'the worker has failed: elsewhere',
      new Error('elsewhere'),
    ],
    [
      'it does not parse',
      'export const = 1;',
      "the worker has failed: Unexpected token '='",
      expect.objectContaining({ name: 'SyntaxError' }),
    ],
    [
      'a dependency is missing',
      `import 'node:no-such-module';`,
      'the worker has failed: No such built-in module: node:no-such-module',
      expect.objectContaining({ code: 'ERR_UNKNOWN_BUILTIN_MODULE' }),
    ],
    [
      'it exports a reserved name',
      'export const close = () => {};',
      'the worker has failed: module.close: the name is taken; choose another',
    ],
    ['it exits', 'process.exit(7);', 'the worker has exited with code 7'],
    [
      'nothing is left to await',
      'await new Promise(() => {});',
      'the worker has exited with code 0',
    ],
  ];

  test.each(failing)('%s', (_, code, text, cause) => {
    expect(() => connectSync(moduleOf(code))).toThrow(closed('connectSync', text, cause));
  });

  test('it does not exist', () => {
    expect(() => connectSync(new URL('./no-such-file.mjs', import.meta.url))).toThrow(
      expect.objectContaining({
        name: 'BridgeClosedError',
        message: expect.stringContaining('the worker has failed: Cannot find module'),
        cause: expect.objectContaining({ code: 'ERR_MODULE_NOT_FOUND' }),
      }),
    );
  });

  test('it takes longer than the timeout', () => {
    const forever = moduleOf('await new Promise((resolve) => setTimeout(resolve, 1e6));');
    const timedOut = expect.objectContaining({
      name: 'TimeoutError',
      message: 'connectSync() had no answer within 50 ms',
      call: 'connectSync',
    });
    expect(() => connectSync(forever, { timeout: 50 })).toThrow(timedOut);
  });

  test.each([
    ['exits', 'process.exit(1)'],
    ['throws', 'throw new Error("unseen")'],
    ['does not call expose', '0'],
  ])('a worker of the user %s', (_, script) => {
    const worker = new Worker(script, { eval: true });
    worker.on('error', () => {});
    expect(() => connectSync(worker)).toThrow(closed('connectSync', 'the worker has ended'));
  });

  test('a worker has ended before', async () => {
    const worker = new Worker('0', { eval: true });
    await new Promise((resolve) => worker.once('exit', resolve));
    expect(() => connectSync(worker)).toThrow(closed('connectSync', 'the worker has ended'));
  });
});

describe('during a blocking call', () => {
  test('it exits', async () => {
    const worker = start();
    const text = 'the other side has closed the bridge: the worker has exited with code 3';
    expect(() => worker.exit(3)).toThrow(closed('exit', text));
    expect(() => worker.same(1)).toThrow(closed('same', text));
    expect(worker.closed).toBe(true);
    expect(await worker.ended).toBe(text);
  });

  test('an error is uncaught', () => {
    const text = 'the other side has closed the bridge: in a callback of the event loop';
    expect(() => start().crash()).toThrow(
      closed('crash', text, new RangeError('in a callback of the event loop')),
    );
  });

  test('an error that the module handles ends nothing', () => {
    const worker = connectSync<{ f(): Promise<string> }>(
      moduleOf(`
        let handled;
        process.on('uncaughtException', (error) => handled(error.message));
        const fail = () => { throw new Error('handled'); };
        const next = () => new Promise((resolve) => { handled = resolve; setImmediate(fail); });
        await next();
        export const f = next;
      `),
    );
    expect([worker.f(), worker.f()]).toEqual(['handled', 'handled']);
    worker.close();
  });

  test('it runs out of memory', { timeout: 60_000 }, () => {
    const worker = start({ resourceLimits: { maxOldGenerationSizeMb: 20 } });
    expect(() => worker.allocate()).toThrow(closed('allocate', 'the worker has ended'));
  });

  test('it is terminated', () => {
    const thread = new Worker(new URL('./bridge/sync/exposing.mjs', import.meta.url));
    const worker = connectSync<{ never(): Promise<never> }>(thread);
    void thread.terminate();
    expect(() => worker.never()).toThrow(closed('never', 'the worker has ended'));
  });
});

describe('close', () => {
  test('ends the bridge, and the worker that it has started', async () => {
    const worker = start();
    const pending = worker.async.never();
    worker.close('enough');
    expect(() => worker.same(1)).toThrow('enough');
    await expect(pending).rejects.toBe('enough');
    expect(await worker.ended).toBe('closed here: enough');
    worker.close();
  });

  test('the end of a block does it too', () => {
    const worker = start();
    worker[Symbol.dispose]();
    expect(() => worker.same(1)).toThrow(BridgeClosedError);
  });

  test('the worker of the user lives on', async () => {
    const thread = new Worker(new URL('./bridge/sync/exposing.mjs', import.meta.url));
    const said = new Promise((resolve) => thread.on('message', (m) => m === 'alive' && resolve(m)));
    const worker = connectSync<{ speak(): void }>(thread);
    worker.send.speak();
    worker.close();
    expect(await said).toBe('alive');
  });
});

describe('wrong arguments', () => {
  test.each<[text: string, worker: unknown, options?: object]>([
    ['worker must be the URL of a module, or a Worker, got null', null],
    ['worker must be the URL of a module, or a Worker, got object', {}],
    ['worker must be an absolute path or a URL, got "./worker.js"', './worker.js'],
    ['worker must be an absolute path or a URL, got "worker.js"', 'worker.js'],
    ['worker must be an absolute path or a URL, got ""', ''],
    ['options has "threads", expected only timeout, spin', functions, { threads: 1 }],
    ['timeout must be a number of milliseconds >= 0, got -1', functions, { timeout: -1 }],
    ['bufferSize must be an integer', functions, { bufferSize: 0 }],
    ['heartbeatTimeout must be a number of milliseconds >= 1', functions, { heartbeatTimeout: 0 }],
    ['options has "env", expected only timeout', { postMessage() {} }, { env: {} }],
  ])('%s', (text, worker, options) => {
    let threads = 0;
    const count = () => threads++;
    subscribe('worker_threads', count);
    onTestFinished(() => void unsubscribe('worker_threads', count));
    expect(() => connectSync(worker as URL, options)).toThrow(text);
    expect(threads).toBe(0);
  });
});
