/**
 * Measures a plan: interleaved rounds in random order, the runs of a group back to back.
 *
 * Invariants:
 * - All subjects of a group run directly after each other, so that ratios are taken inside a round.
 * - A round that other programs disturbed is measured again; the attempt with the least foreign load is kept, regardless
 *   of its figures.
 * - A subject that gave a wrong answer has failed and is not run again.
 */
import { shuffle, sum } from 'simple-statistics';
import { runCell } from './cell.js';
import type { GroupRound, Journal, SubjectRound } from './journal.js';
import { foreignLimit, type Load, loadBetween, readLoad } from './load.js';
import { Pace } from './pace.js';
import type { Plan, PlannedGroup, PlannedRun } from './plan.js';
import { fewestRounds } from './statistics.js';

/** The progress of a run. */
export interface Progress {
  readonly round: number;
  readonly rounds: number;
  /** The cell and subject that start now; absent at the end of a round. */
  readonly now?: string;
  readonly remainingMilliseconds: number;
}

type Schedule = readonly { readonly round: number; readonly group: PlannedGroup }[];

interface Attempt {
  readonly load: Load | null;
  readonly subjects: readonly SubjectRound[];
}

const mostAttempts = 3;
/** Repeating disturbed rounds may take this share of a run, */
const mostRepeating = 1 / 4;
/** or this long in a short run. */
const mostRepeatingMilliseconds = 15_000;

export class Measuring {
  readonly #plan: Plan;
  readonly #module: string;
  readonly #journal: Journal;
  readonly #signal: AbortSignal;
  #onProgress: (progress: Progress) => void = () => {};
  #processes: readonly number[] = [];
  readonly #pace: Pace;
  /** The remaining groups, in order; the first is being measured. */
  #schedule: Schedule;
  /** The runs of the current group that have not started. */
  #waiting: readonly PlannedRun[] = [];
  #startedAt = 0;
  #lastRound = 0;
  #repeatingMilliseconds = 0;

  constructor(options: {
    readonly plan: Plan;
    readonly module: string;
    readonly journal: Journal;
    readonly signal: AbortSignal;
  }) {
    this.#plan = options.plan;
    this.#module = options.module;
    this.#journal = options.journal;
    this.#signal = options.signal;
    this.#pace = new Pace(options.plan.budget);
    this.#schedule = Array.from({ length: this.#plan.rounds }, (_, index) => index + 1).flatMap(
      (round) => this.#dueIn(round).map((group) => ({ round, group })),
    );
  }

  #dueIn(round: number): PlannedGroup[] {
    const due = this.#plan.groups.filter(
      ({ cell, once }) =>
        (round === 1 || !once) &&
        !this.#journal.isFinished(cell.id) &&
        this.#journal.roundsOf(cell.id).every((done) => done.round !== round),
    );
    return shuffle(due);
  }

  /** The rounds of an interrupted run. */
  get roundsKept(): number {
    return Math.max(0, (this.#schedule[0]?.round ?? this.#plan.rounds + 1) - 1);
  }

  get remainingMilliseconds(): number {
    return this.#expect(this.#due);
  }

  /** The part of the schedule that fits in the time: the last rounds are omitted. */
  get #due(): Schedule {
    const gone = this.#startedAt > 0 ? performance.now() - this.#startedAt : 0;
    let due = this.#schedule;
    for (;;) {
      const last = due.at(-1)?.round ?? 0;
      if (last <= fewestRounds || gone + this.#expect(due) <= this.#plan.mostMilliseconds)
        return due;
      due = due.filter(({ round }) => round < last);
    }
  }

  #expect(schedule: Schedule): number {
    const whole = schedule.map(({ group }, index) => {
      const runs = index === 0 && this.#startedAt > 0 ? this.#waiting : this.#asked(group);
      return this.#pace.expect(group.cell, runs);
    });
    // At most `mostRepeating` of the run goes into repeats.
    return sum(whole) * Math.min(this.#pace.repeating, 1 / (1 - mostRepeating));
  }

  /** Whether everything is measured. */
  get isDone(): boolean {
    return this.#schedule.length === 0;
  }

  /** The number of the last round. */
  get rounds(): number {
    return this.#due.at(-1)?.round ?? this.#lastRound;
  }

  /** `processes` are those that the table's preparation left running. */
  async measure(
    processes: readonly number[],
    onProgress: (progress: Progress) => void,
  ): Promise<void> {
    this.#processes = processes;
    this.#onProgress = onProgress;
    this.#startedAt = performance.now();
    const cells = this.#plan.groups.map(({ cell }) => cell.id);
    this.#journal.begin(cells);
    for (let next = this.#due[0]; next; next = this.#due[0]) {
      const { round, group } = next;
      const measured = await this.#calmestOf(round, group);
      this.#journal.add(measured);
      this.#pace.noteGroup(group, measured.attempts);
      this.#schedule = this.#schedule.slice(1);
      this.#lastRound = round;
      this.#waiting = this.#schedule[0] ? this.#asked(this.#schedule[0].group) : [];
      if (this.#due[0]?.round !== round) this.#tell(round);
    }
    this.#journal.finish(cells);
  }

  async #calmestOf(round: number, group: PlannedGroup): Promise<GroupRound> {
    const failures: SubjectRound[] = [];
    let attempts = 0;
    let calmest: Attempt | undefined;
    while (attempts < mostAttempts) {
      const startedAt = performance.now();
      const attempt = await this.#attempt(round, group, failures);
      attempts += 1;
      failures.push(...attempt.subjects.filter((subject) => !subject.ok));
      if (!calmest || foreignIn(attempt) < foreignIn(calmest)) calmest = attempt;
      const took = performance.now() - startedAt;
      if (attempts > 1) this.#repeatingMilliseconds += took;
      if (foreignIn(attempt) <= foreignLimit || !this.#mayRepeat(took)) break;
    }
    const passed = calmest?.subjects.filter((subject) => subject.ok) ?? [];
    return {
      kind: 'round',
      cell: group.cell.id,
      round,
      date: new Date().toISOString(),
      attempts,
      load: calmest?.load ?? null,
      subjects: [...passed, ...failures],
    };
  }

  #mayRepeat(took: number): boolean {
    const whole = performance.now() - this.#startedAt + this.remainingMilliseconds;
    const allowed = Math.max(mostRepeatingMilliseconds, whole * mostRepeating);
    return this.#repeatingMilliseconds + took <= allowed;
  }

  async #attempt(
    round: number,
    group: PlannedGroup,
    failures: readonly SubjectRound[],
  ): Promise<Attempt> {
    const before = readLoad(this.#processes);
    const subjects: SubjectRound[] = [];
    this.#waiting = shuffle(this.#asked(group, failures));
    for (const run of this.#waiting) {
      this.#tell(round, `${group.cell.id}: ${run.subject}`);
      subjects.push(await this.#measureSubject(group, run));
      this.#waiting = this.#waiting.slice(1);
    }
    return { load: loadBetween(before, readLoad(this.#processes)), subjects };
  }

  /** The runs of a group without those of subjects that have failed. */
  #asked(group: PlannedGroup, failures: readonly SubjectRound[] = []): PlannedRun[] {
    const before = this.#journal.roundsOf(group.cell.id).flatMap((round) => round.subjects);
    const failed = [...before, ...failures].filter((subject) => !subject.ok);
    return group.runs.filter((run) => failed.every((other) => other.subject !== run.subject));
  }

  async #measureSubject(group: PlannedGroup, run: PlannedRun): Promise<SubjectRound> {
    const { cell, rows } = group;
    const what = {
      module: this.#module,
      cell,
      rows,
      subject: run.subject,
      budget: this.#plan.budget,
      signal: this.#signal,
    };
    let found = await runCell(what);
    // One crash says nothing about the subject; two in a row are a failure.
    if (found.crashed) found = await runCell(what);
    this.#pace.noteRun(cell, run, found.milliseconds);
    const { ok, note = '', milliseconds, samples } = found;
    const { unequal, unavailable, behaviours } = found;
    return {
      ...run,
      ...{ ok, note, milliseconds: Math.round(milliseconds), samples },
      ...(unequal === undefined ? {} : { unequal }),
      ...(unavailable === undefined ? {} : { unavailable }),
      ...(behaviours === undefined ? {} : { behaviours }),
    };
  }

  #tell(round: number, now?: string): void {
    this.#onProgress({
      round,
      rounds: this.rounds,
      ...(now === undefined ? {} : { now }),
      remainingMilliseconds: this.remainingMilliseconds,
    });
  }
}

function foreignIn(attempt: Attempt): number {
  return attempt.load?.foreign ?? 0;
}
