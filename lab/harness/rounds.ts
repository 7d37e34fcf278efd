/**
 * Measures a plan: rounds of its groups, until each has enough of them.
 *
 * Invariants:
 * - Every group has the plan's minimum of rounds before any has more. Further rounds go to the groups without a certain
 *   verdict, until all verdicts are certain or the time is over.
 * - A subject that gave a wrong answer has failed and is not run again.
 */
import { max, min, sample, sum } from 'simple-statistics';
import type { GroupRound, Journal } from './journal.js';
import { loadBetween, readLoad } from './load.js';
import type { Plan, PlannedGroup, PlannedRun } from './plan.js';
import { measureRound } from './round.js';
import type { Cell } from './table.js';

/** The progress of a run. */
export interface Progress {
  /** The number of groups with a certain verdict, or with no more rounds to come. */
  readonly done: number;
  /** The number of all groups. */
  readonly groups: number;
  /** What happens now; absent at the end of a round. */
  readonly now?: string;
  readonly remaining: Duration;
}

/** Until all verdicts are certain, which takes at least and at most these times. */
export interface Duration {
  readonly least: number;
  readonly most: number;
}

const usualStartMilliseconds = 300;
const usualTurnsMilliseconds = 1_500;

export interface MeasuringOptions {
  readonly plan: Plan;
  readonly module: string;
  readonly journal: Journal;
  readonly signal: AbortSignal;
  /** As `openCells` of `outcome.ts`. */
  openCells(cells: readonly Cell[]): ReadonlyMap<Cell, ReadonlySet<string>>;
}

export class Measuring {
  readonly #options: MeasuringOptions;
  /** The duration of the last round. */
  readonly #taken = new Map<PlannedGroup, number>();
  #startedAt: number | undefined;
  /** Computed only between rounds, because a headline of many rows takes long to compute. */
  #open: ReadonlyMap<Cell, ReadonlySet<string>> = new Map();

  constructor(options: MeasuringOptions) {
    this.#options = options;
    this.#judge();
  }

  #judge(): void {
    const groups = this.#groups;
    const isEarly = groups.some((group) => this.#missing(group) > 0);
    const judged = isEarly ? [] : groups.filter(({ once }) => !once);
    this.#open = this.#options.openCells(judged.map(({ cell }) => cell));
  }

  get #groups(): readonly PlannedGroup[] {
    const { plan, journal } = this.#options;
    return plan.groups.filter(({ cell }) => !journal.isFinished(cell.id));
  }

  /** The number of rounds of the group that has the most. */
  get rounds(): number {
    const { plan } = this.#options;
    return max([0, ...plan.groups.map((group) => this.#roundsOf(group))]);
  }

  get remaining(): Duration {
    const { most, milliseconds } = this.#options.plan.rounds;
    const due = this.#groups.map((group) => this.#missing(group) * this.#expect(group));
    const all = this.#groups
      .filter((group) => this.#missing(group) > 0 || this.#mayGoOn(group))
      .map((group) => (group.once ? 0 : most - this.#roundsOf(group)) * this.#expect(group));
    const least = sum([0, ...due]);
    return {
      least,
      most: Math.max(least, Math.min(sum([0, ...all]), milliseconds - this.#elapsed)),
    };
  }

  /** Whether the journal says so: a run that an interruption ended after its last round has yet to be finished. */
  get isDone(): boolean {
    return this.#groups.length === 0;
  }

  /** `processes` are those that the table's preparation left running. */
  async measure(
    processes: readonly number[],
    onProgress: (progress: Progress) => void,
  ): Promise<void> {
    const { journal, plan } = this.#options;
    this.#startedAt = performance.now();
    const cells = plan.groups.map(({ cell }) => cell.id);
    journal.begin(cells);
    for (let group = this.#next(); group; group = this.#next()) {
      journal.add(await this.#round(group, processes, (now) => this.#tell(onProgress, now)));
      this.#judge();
      this.#tell(onProgress);
    }
    journal.finish(cells);
  }

  /** The group that is measured next: of those with the fewest rounds, one at random. */
  #next(): PlannedGroup | undefined {
    const groups = this.#groups;
    const due = groups.filter((group) => this.#missing(group) > 0);
    const candidates = due.length > 0 ? due : groups.filter((group) => this.#mayGoOn(group));
    if (candidates.length === 0) return undefined;
    const fewest = min(candidates.map((group) => this.#roundsOf(group)));
    return sample(
      candidates.filter((group) => this.#roundsOf(group) === fewest),
      1,
      Math.random,
    )[0];
  }

  #missing(group: PlannedGroup): number {
    const { fewest } = this.#options.plan.rounds;
    return Math.max(0, (group.once ? 1 : fewest) - this.#roundsOf(group));
  }

  #mayGoOn(group: PlannedGroup): boolean {
    const { most, milliseconds } = this.#options.plan.rounds;
    return (
      this.#roundsOf(group) < most &&
      this.#elapsed + this.#expect(group) <= milliseconds &&
      this.#open.has(group.cell)
    );
  }

  #roundsOf({ cell }: PlannedGroup): number {
    return this.#options.journal.roundsOf(cell.id).length;
  }

  get #elapsed(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
  }

  #expect(group: PlannedGroup): number {
    const taken = this.#taken.get(group);
    if (taken !== undefined) return taken;
    const { expectedMilliseconds = usualStartMilliseconds, whole } = group.cell;
    const started = group.runs.length * expectedMilliseconds;
    return whole === undefined ? started / 2 + usualTurnsMilliseconds : started;
  }

  async #round(
    group: PlannedGroup,
    processes: readonly number[],
    onProgress: (now: string) => void,
  ): Promise<GroupRound> {
    const { module, signal } = this.#options;
    const round = this.#roundsOf(group) + 1;
    const startedAt = performance.now();
    const before = readLoad(processes);
    const runs = this.#ableRuns(group);
    const isFirst = round === 1;
    const subjects = await measureRound({ module, group, runs, isFirst, signal, onProgress });
    const milliseconds = Math.round(performance.now() - startedAt);
    this.#taken.set(group, milliseconds);
    return {
      kind: 'round',
      cell: group.cell.id,
      round,
      date: new Date().toISOString(),
      milliseconds,
      load: loadBetween(before, readLoad(processes)),
      subjects,
    };
  }

  /** The runs of a group, except failed subjects and, in further rounds, peers that cannot be the best. */
  #ableRuns(group: PlannedGroup): PlannedRun[] {
    const { cell, runs } = group;
    const near = this.#missing(group) > 0 ? undefined : this.#open.get(cell);
    const ours = runs.find(({ control }) => control)?.subject;
    const before = this.#options.journal.roundsOf(cell.id).flatMap(({ subjects }) => subjects);
    const failed = before.filter(({ ok }) => !ok).map(({ subject }) => subject);
    return runs
      .filter(({ subject }) => !failed.includes(subject))
      .filter(({ subject }) => near === undefined || subject === ours || near.has(subject));
  }

  #tell(onProgress: (progress: Progress) => void, now?: string): void {
    const { plan } = this.#options;
    const going = this.#groups.filter((group) => this.#missing(group) > 0 || this.#mayGoOn(group));
    onProgress({
      done: plan.groups.length - going.length,
      groups: plan.groups.length,
      ...(now === undefined ? {} : { now }),
      remaining: this.remaining,
    });
  }
}
