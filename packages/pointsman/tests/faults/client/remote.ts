/**
 * The runner's handle of another process.
 *
 * Invariant: no such process outlives the runner, not even a stopped one.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { now } from '../history.js';

/** A call of a function of the other process. */
export interface Request {
  readonly number: number;
  readonly name: string;
  readonly values: readonly unknown[];
}

export interface Answer {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: string;
}

const alive = new Set<ChildProcess>();

function killAll(): void {
  for (const child of alive) child.kill('SIGKILL');
}
process.on('exit', killAll);

type Settle = { resolve: (value: never) => void; reject: (error: Error) => void };

/** No call takes this long, in milliseconds, unless the process is stuck. */
const callLimit = 120_000;

/** A process that offers `Calls`, by {@link serve}. */
export abstract class RemoteProcess<Calls> {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #calls = new Map<number, Settle>();
  #lastNumber = 0;
  #ending = false;
  /** When it was killed. */
  killedAt: number | undefined;
  /** How the process ended, unless the runner ended it. */
  crash: string | undefined;

  /** `start` is passed to the script as JSON. */
  protected constructor(name: string, script: string, start: object) {
    this.name = name;
    this.#child = fork(script, [JSON.stringify(start)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [],
    });
    alive.add(this.#child);
    this.#child.on('message', (answer: Answer) => this.#settle(answer));
    this.#child.on('exit', (code, signal) => {
      alive.delete(this.#child);
      if (!this.#ending) this.crash = `ended with ${signal ?? code}`;
      for (const { reject } of this.#calls.values()) reject(new Error(`${this.name} has ended`));
      this.#calls.clear();
    });
  }

  /** Resolves when the process serves. */
  protected async started(): Promise<this> {
    await new Promise<never>((resolve, reject) => this.#calls.set(0, { resolve, reject }));
    return this;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  call<Name extends keyof Calls & string>(
    name: Name,
    ...values: Calls[Name] extends (...values: infer Values) => unknown ? Values : never
  ): Promise<Calls[Name] extends (...values: never) => infer Result ? Awaited<Result> : never> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    return new Promise((resolve, reject) => {
      if (this.ended) {
        reject(new Error(`${this.name} has ended`));
        return;
      }
      this.#calls.set(number, { resolve, reject });
      this.#child.send({ number, name, values } satisfies Request);
      setTimeout(() => {
        if (this.#calls.delete(number)) reject(new Error(`${this.name} does not answer ${name}`));
      }, callLimit).unref();
    });
  }

  /** Resolves when all threads of the process have stopped, which they do one after another. */
  async pause(): Promise<void> {
    this.#child.kill('SIGSTOP');
    while (!this.ended && this.#runs()) await setImmediate();
  }

  /** Whether a thread of the process is not stopped, where the system tells. */
  #runs(): boolean {
    const threads = `/proc/${this.#child.pid}/task`;
    if (!existsSync(threads)) return false;
    try {
      return readdirSync(threads).some(
        (thread) => !/\) [TZX]/.test(readFileSync(`${threads}/${thread}/stat`, 'utf8')),
      );
    } catch {
      // A thread has ended meanwhile.
      return true;
    }
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#ending = true;
    this.killedAt ??= now();
    if (this.ended) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #settle({ number, value, error }: Answer): void {
    const call = this.#calls.get(number);
    this.#calls.delete(number);
    if (error !== undefined) call?.reject(new Error(`${this.name}: ${error}`));
    else call?.resolve(value as never);
  }
}

/** Offers calls to the runner, in the other process. It ends with the runner. */
export function serve<Calls extends object>(calls: Calls): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ number, name, values }: Request) => {
    const answer: Answer = await Promise.resolve()
      .then(() => (calls[name as keyof Calls] as (...values: unknown[]) => unknown)(...values))
      .then(
        (value) => ({ number, value }),
        (error) => ({ number, error: String(error?.stack ?? error) }),
      );
    process.send?.(answer);
  });
  process.send?.({ number: 0 } satisfies Answer);
}
