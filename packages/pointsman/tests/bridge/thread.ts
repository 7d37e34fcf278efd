/**
 * The script of a test's thread: runs functions that the test sends as source.
 *
 * Invariant: results reach the test by the worker's own messages, not over the bridge, so a faulty bridge cannot hide
 * them.
 */
import * as bridge from 'pointsman/bridge';
import { isPattern, pattern } from './pattern.js';
import { scope } from './scope.node.js';

export interface Scope {
  listen(listener: (message: unknown) => void): void;
  post(message: unknown): void;
  /** Lets this thread end although its test could still send messages. */
  letGo(): void;
  collectGarbage(): void;
}

/** A thrown value in the form that tests compare. */
export interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** The name of its class in this thread. */
  readonly type: string;
  /** Own enumerable properties. */
  readonly own: Readonly<Record<string, unknown>>;
  readonly call?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** The first parameter of a test's function. */
export interface Tools<Api = object> {
  readonly host: bridge.Host<Api>;
  readonly bridge: typeof bridge;
  readonly scope: Scope;
  /** State that one function leaves for the next. */
  readonly kept: Record<string, unknown>;
  readonly pattern: typeof pattern;
  readonly isPattern: typeof isPattern;
  /** Runs `work` and describes the error that it throws. */
  caught(work: () => unknown): Promise<Thrown>;
  /** Describes a thrown value. */
  thrown(error: unknown): Thrown;
  evaluate(source: string): (...args: unknown[]) => unknown;
}

function thrown(error: unknown): Thrown {
  if (!(error instanceof Error)) {
    const message = `${typeof error} ${JSON.stringify(error)}`;
    return { name: 'no error', message, stack: '', type: typeof error, own: {} };
  }
  const { name, message, stack = '', cause } = error;
  const { call, errors } = error as { call?: unknown; errors?: unknown[] };
  const type = Object.getPrototypeOf(error).constructor.name;
  const own = { ...(error as object) };
  return {
    ...{ name, message, stack, type, own },
    ...(call !== undefined && { call }),
    ...(Object.hasOwn(error, 'cause') && {
      cause: cause instanceof Error ? thrown(cause) : cause,
    }),
    ...(errors && { errors: errors.map((one) => (one instanceof Error ? thrown(one) : one)) }),
  };
}

const evaluate = (source: string) =>
  new Function(`return (${source});`)() as (...args: unknown[]) => unknown;

const kept: Record<string, unknown> = {};
const tools: Tools = {
  get host() {
    return kept.host as never;
  },
  bridge,
  scope,
  kept,
  pattern,
  isPattern,
  async caught(work) {
    try {
      const value = await work();
      return { name: 'nothing thrown', message: String(value), stack: '', type: '', own: {} };
    } catch (error) {
      return thrown(error);
    }
  },
  thrown,
  evaluate,
};

scope.listen(async (message) => {
  if (!Array.isArray(message) || message[0] !== 'test') return;
  const [, id, source, args] = message;
  let answer: unknown[];
  try {
    answer = [true, await evaluate(source)(tools, ...args)];
  } catch (error) {
    answer = [false, thrown(error)];
  }
  try {
    scope.post(['test', id, ...answer]);
  } catch (error) {
    scope.post(['test', id, false, thrown(error)]);
  }
});
scope.post(['test', 0, true, undefined]);
