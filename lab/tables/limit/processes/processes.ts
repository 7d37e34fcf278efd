/** Controls the processes of a cell, which wait without work between two runs. */
import { type ChildProcess, fork } from 'node:child_process';
import type { Address } from '../../../harness/redis-server.js';
import { within } from '../../../harness/watch.js';
import type { Rule } from '../subject.js';
import type { Command, Orders, Reports } from './shared.js';

const patienceMilliseconds = 15_000;

export class Processes {
  readonly #children: readonly ChildProcess[];

  constructor(count: number, subject: string, address: Address, namespace: string, rule: Rule) {
    this.#children = Array.from({ length: count }, (_, index) => {
      const orders: Orders = { subject, address, namespace, rule, isFirst: index === 0 };
      return fork(new URL('./process.js', import.meta.url), [JSON.stringify(orders)], {
        serialization: 'advanced',
      });
    });
    process.once('exit', () => this.end());
  }

  async ready(): Promise<void> {
    await Promise.all(this.#children.map(nextMessage));
  }

  /** Returns the report of each process. */
  async run<Name extends Command['name']>(
    command: Command & { readonly name: Name },
  ): Promise<Reports[Name][]> {
    const answers = Promise.all(this.#children.map(nextMessage));
    for (const child of this.#children) child.send(command);
    return within(
      patienceMilliseconds,
      answers as Promise<Reports[Name][]>,
      () => 'processes had not all ended',
    );
  }

  end(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}

/** The next message of a process. Rejects if it is an error, or if the process ends first. */
function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, fail) => {
    const ended = (code: number | null) => fail(new Error(`a process ended with code ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      if (message instanceof Error) fail(message);
      else resolve(message);
    });
  });
}
