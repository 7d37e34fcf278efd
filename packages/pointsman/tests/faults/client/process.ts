/**
 * The runner's handle of a client process.
 *
 * Invariant: no client process outlives the runner, not even a stopped one.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type History, now, readHistory } from '../history.js';
import type { Setting } from '../subjects/subject.js';
import type { Answer, Calls, Start } from './calls.js';

const main = fileURLToPath(new URL('./main.js', import.meta.url));
const alive = new Set<ChildProcess>();

function killAll(): void {
  for (const child of alive) child.kill('SIGKILL');
}
process.on('exit', killAll);

type Settle = { resolve: (value: never) => void; reject: (error: Error) => void };

/** No call takes this long, in milliseconds, unless the process is stuck. */
const callLimit = 120_000;

export class ClientProcess {
  readonly setting: Setting;
  readonly #start: Start;
  readonly #child: ChildProcess;
  readonly #calls = new Map<number, Settle>();
  #lastNumber = 0;
  #ending = false;
  /** When it was killed. */
  killedAt: number | undefined;
  /** How the process ended, unless the runner ended it. */
  crash: string | undefined;

  private constructor(start: Start) {
    this.setting = start.setting;
    this.#start = start;
    this.#child = fork(main, [JSON.stringify(start)], {
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

  static async start(start: Start): Promise<ClientProcess> {
    const client = new ClientProcess(start);
    await new Promise<never>((resolve, reject) => client.#calls.set(0, { resolve, reject }));
    return client;
  }

  get name(): string {
    return this.setting.name;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  call<Name extends keyof Calls>(
    name: Name,
    ...values: Parameters<Calls[Name]>
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    return new Promise((resolve, reject) => {
      if (this.ended) {
        reject(new Error(`${this.name} has ended`));
        return;
      }
      this.#calls.set(number, { resolve, reject });
      this.#child.send({ number, name, values });
      setTimeout(() => {
        if (this.#calls.delete(number)) reject(new Error(`${this.name} does not answer ${name}`));
      }, callLimit).unref();
    });
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
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

  history(): History {
    const history = readHistory(this.name, this.#start.history);
    if (this.crash) history.oddities.push({ client: this.name, at: now(), text: this.crash });
    return history;
  }

  #settle({ number, value, error }: Answer): void {
    const call = this.#calls.get(number);
    this.#calls.delete(number);
    if (error !== undefined) call?.reject(new Error(`${this.name}: ${error}`));
    else call?.resolve(value as never);
  }
}
