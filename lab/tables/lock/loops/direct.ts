/** Directs the event loops of a cell through one setting after the other. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { sum } from 'simple-statistics';
import { Judge } from '../judge.js';
import type { Address } from '../subject.js';
import { fairness, slowestWaits } from '../workloads/fairness.js';
import { within } from '../workloads/watch.js';
import {
  Board,
  type LoopData,
  type LoopReport,
  mostLoops,
  phases,
  type Setting,
} from './shared.js';

export interface Found {
  readonly perSecond: number;
  readonly p99: number;
  readonly longest: number;
  readonly fairness: number;
  /** Commands sent in the whole run. */
  readonly sent: number;
  /** Turns taken in the whole run, with those before and after the measured part. */
  readonly turns: number;
}

const patienceMilliseconds = 15_000;

export class Loops {
  readonly #board = new Board();
  readonly #workers: readonly Worker[];

  constructor(subject: string, address: Address) {
    this.#workers = Array.from({ length: mostLoops }, (_, index) => {
      const workerData: LoopData = { subject, address, index, board: this.#board.memory };
      return new Worker(new URL('./loop.js', import.meta.url), { workerData });
    });
  }

  async ready(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => once(worker, 'message')));
  }

  /** `working` of the setting's loops work, the others stand by. */
  async run(
    setting: Setting,
    working: number,
    { warmUpMilliseconds, milliseconds }: Record<'warmUpMilliseconds' | 'milliseconds', number>,
  ): Promise<Found> {
    const judge = new Judge();
    const board = this.#board;
    const atFirst = board.turns();
    board.phase = phases.warmUp;
    const workers = this.#workers.slice(0, working);
    const reports = Promise.all(
      workers.map(async (worker): Promise<LoopReport> => {
        worker.postMessage({ setting, judge: judge.memory });
        const [report] = await once(worker, 'message');
        return report;
      }),
    );
    await Promise.race([sleep(warmUpMilliseconds), reports]);
    const before = board.turns();
    const startedAt = performance.now();
    board.phase = phases.measure;
    await Promise.race([sleep(milliseconds), reports]);
    const after = board.turns();
    const seconds = (performance.now() - startedAt) / 1_000;
    board.phase = phases.stop;
    const found = await within(
      patienceMilliseconds,
      reports,
      () => `loops had not all ended, with ${judge.turns} turns taken,`,
    );
    const turns = sum(board.turns()) - sum(atFirst);
    judge.check(turns);
    const waits = Float64Array.from(found.flatMap((report) => [...report.waits]));
    return {
      perSecond: (sum(after) - sum(before)) / seconds,
      ...slowestWaits(waits),
      fairness: fairness(found.map((report) => report.waits.length)),
      sent: sum(found.map((report) => report.sent)),
      turns,
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
