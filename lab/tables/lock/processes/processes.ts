/** Controls the processes of a cell, which wait without work between two runs. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sum } from 'simple-statistics';
import type { Address } from '../../../harness/redis-server.js';
import { within } from '../../../harness/watch.js';
import { reject } from '../judge.js';
import { fairness, slowestWaits } from '../workloads/fairness.js';
import { FileJudge } from './file-judge.js';
import { PermitsJudge } from './permits-judge.js';
import {
  type Command,
  type Orders,
  processCount,
  type Report,
  type Setting,
  tasksPerProcess,
} from './shared.js';

export interface Found {
  readonly perSecond: number;
  readonly p99: number;
  readonly longest: number;
  readonly fairness: number;
  /** Turns in the whole run, including those before and after the measured part. */
  readonly turns: number;
  /** Microseconds of processor time in the whole run. */
  readonly used: number;
}

const rampMilliseconds = 50;
const patienceMilliseconds = 15_000;

export class Processes {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lab-lock-'));
  readonly #tally = join(this.#folder, 'tally');
  readonly #children: readonly ChildProcess[];

  constructor(subject: string, address: Address, namespace: string) {
    this.#children = Array.from({ length: processCount }, (_, index) => {
      const orders: Orders = { subject, address, namespace, tally: this.#tally, index };
      return fork(new URL('./process.js', import.meta.url), [JSON.stringify(orders)], {
        serialization: 'advanced',
      });
    });
    process.once('exit', () => this.end());
  }

  async ready(): Promise<void> {
    await Promise.all(this.#children.map(nextMessage));
  }

  /** Runs a setting: `working` of its processes work, the others are idle. */
  async run(setting: Setting, working: number, milliseconds: number): Promise<Found> {
    const isLock = setting.permits === undefined;
    if (isLock) FileJudge.prepare(this.#tally);
    else PermitsJudge.prepare(this.#tally, processCount * tasksPerProcess);
    const counter = isLock ? new FileJudge(this.#tally) : undefined;
    const children = this.#children.slice(0, working);
    const send = (command: Command) => {
      for (const child of children) child.send(command);
    };
    const answers = Promise.all(children.map(nextMessage)) as Promise<Report[]>;
    send({ name: 'begin', setting });
    await Promise.race([sleep(rampMilliseconds), answers]);
    send({ name: 'measure' });
    await Promise.race([sleep(milliseconds), answers]);
    send({ name: 'end' });
    const reports = await within(
      patienceMilliseconds,
      answers,
      () => `processes had not all ended${counter ? `, with ${counter.turns} turns taken,` : ''}`,
    );
    const turns = sum(reports.map((report) => report.turns));
    reject(sum(reports.map((report) => report.intruders)), counter?.turns ?? turns, turns);
    counter?.close();
    return {
      perSecond: sum(reports.map((report) => report.perSecond)),
      ...slowestWaits(Float64Array.from(reports.flatMap((report) => report.waits))),
      fairness: fairness(reports.map((report) => report.turns)),
      turns,
      used: sum(reports.map((report) => report.used)),
    };
  }

  end(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The next message of a process. Rejects if the process ends first. */
function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, fail) => {
    const ended = (code: number | null) => fail(new Error(`a process ended with code ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}
