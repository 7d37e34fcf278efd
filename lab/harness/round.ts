/**
 * One round of a group: a process for each subject, all alive together, that take turns.
 *
 * Invariants:
 * - In a turn the subjects run one slice each, directly after each other and in random order, so that a ratio compares
 *   neighbours in time.
 * - Nothing else of the lab runs during a slice but the busy processes of its condition.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { shuffle } from 'simple-statistics';
import { CellProcess, type Ended, type OfferedSlice } from './cell.js';
import { begin, type Condition, conditions } from './condition.js';
import { idleShareOf } from './idle.js';
import type { SubjectRound } from './journal.js';
import type { PlannedGroup, PlannedRun } from './plan.js';
import type { Turns } from './statistics.js';

/**
 * The turns of a round take about this long, within the limits on their number below. It is short because processes of
 * one program differ more than the turns of a process, so more rounds say more than more turns.
 */
const turnsMilliseconds = 1_000;
const fewestTurns = 2;
const mostTurns = 10;
const usualSliceMilliseconds = 25;
/** The system needs this time to distribute new busy processes among the cores. */
const settleMilliseconds = 50;
const idleMilliseconds = 100;

interface Taker {
  readonly run: PlannedRun;
  readonly process: CellProcess;
  readonly samples: Record<string, (number | null)[]>;
  idleShare?: number;
}

export interface RoundOptions {
  readonly module: string;
  readonly group: PlannedGroup;
  /** The runs of subjects that have not failed. */
  readonly runs: readonly PlannedRun[];
  /** Whether to measure what the processes use while they are idle. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
  onProgress(now: string): void;
}

export async function measureRound(options: RoundOptions): Promise<readonly SubjectRound[]> {
  const { group } = options;
  if (group.cell.whole !== undefined) {
    const found: SubjectRound[] = [];
    for (const run of shuffle([...options.runs])) {
      options.onProgress(`${group.cell.id}: ${run.subject}`);
      found.push(resultOf(await start(options, run), group));
    }
    return found;
  }
  const first = await runTogether(options);
  // A crash between slices is like one at the start: the others lack its turns, so all run again.
  const hasCrashed = first.some(
    ({ process }) => process.slices.length > 0 && process.ended?.crashed,
  );
  const takers = hasCrashed ? await runTogether(options) : first;
  return takers.map((taker) => resultOf(taker, group));
}

/** Returns the processes, which have ended. */
async function runTogether(options: RoundOptions): Promise<readonly Taker[]> {
  const { group, signal } = options;
  const takers: Taker[] = [];
  const waiting = shuffle([...options.runs]);
  const startNext = async () => {
    for (let run = waiting.pop(); run; run = waiting.pop()) {
      options.onProgress(`${group.cell.id}: ${run.subject} warms up`);
      takers.push(await start(options, run));
    }
  };
  try {
    // All of them, so that no process starts after the others have been killed.
    const starts = await Promise.allSettled(
      Array.from({ length: group.cell.warmsUpAlone ? 1 : availableParallelism() }, startNext),
    );
    for (const one of starts) if (one.status === 'rejected') throw one.reason;
    if (options.isFirst) await noteIdleShares(takers);
    for (const condition of conditions) await takeTurns(options, takers, condition);
    await Promise.all(takers.map(({ process }) => process.end()));
  } finally {
    for (const { process } of takers) process.kill();
  }
  signal.throwIfAborted();
  return takers;
}

async function start(options: RoundOptions, run: PlannedRun): Promise<Taker> {
  const { module, signal } = options;
  const { cell, rows } = options.group;
  const what = { module, cell, rows, subject: run.sameAs ?? run.subject, signal };
  let process = await CellProcess.start(what);
  // One crash says nothing about the subject; two in a row are a failure.
  if (process.ended?.crashed) process = await CellProcess.start(what);
  return { run, process, samples: {} };
}

async function noteIdleShares(takers: readonly Taker[]): Promise<void> {
  const shareOf = takers.map(({ process }) => idleShareOf(process.id));
  await pause(idleMilliseconds);
  for (const [index, taker] of takers.entries()) {
    const share = shareOf[index]?.();
    if (share !== undefined) taker.idleShare = share;
  }
}

async function takeTurns(
  options: RoundOptions,
  takers: readonly Taker[],
  condition: Condition,
): Promise<void> {
  const slices = slicesIn(takers, condition);
  if (slices.length === 0) return;
  const { cell } = options.group;
  const milliseconds = cell.sliceMilliseconds ?? usualSliceMilliseconds;
  const most = Math.round(turnsMilliseconds / (slices.length * takers.length * milliseconds));
  const turns = cell.turns ?? Math.min(mostTurns, Math.max(fewestTurns, most));
  const running = await begin(condition);
  try {
    if (running.processes.length > 0) await pause(settleMilliseconds);
    for (let turn = 0; turn < turns; turn += 1) {
      options.onProgress(`${cell.id}: turn ${turn + 1} of ${turns}, ${condition}`);
      for (const slice of slices) {
        const able = takers.filter(({ process }) =>
          process.slices.some(({ name }) => name === slice),
        );
        for (const { process, samples } of shuffle(able)) {
          const found = (await process.run(slice, milliseconds)) ?? {};
          for (const [measure, sample] of Object.entries(found)) {
            samples[measure] ??= [];
            samples[measure].push(Number.isFinite(sample) ? Number(sample.toPrecision(6)) : null);
          }
        }
      }
    }
  } finally {
    await running.end();
  }
}

function slicesIn(takers: readonly Taker[], condition: Condition): string[] {
  const offered = takers.flatMap(({ process }) => process.slices);
  const inCondition = (slice: OfferedSlice) => slice.condition === condition;
  return [...new Set(offered.filter(inCondition).map(({ name }) => name))];
}

function resultOf(
  { run, process, samples: inTurns, idleShare }: Taker,
  { rows }: PlannedGroup,
): SubjectRound {
  const ended = process.ended as Ended;
  const samples = { ...inTurns, ...ended.samples };
  const lacking = rows.find(
    (row) => (row.subjects?.includes(run.subject) ?? true) && !isWhole(samples[row.measure]),
  );
  const ok = ended.ok && lacking === undefined;
  const note = ended.ok && lacking ? `gave no finite samples of ${lacking.measure}` : ended.note;
  const { unequal, unavailable, behaviours } = ended;
  return {
    ...run,
    ...{ ok, note: note ?? '', samples: ok ? samples : {} },
    ...(idleShare === undefined ? {} : { idleShare: Number(idleShare.toPrecision(3)) }),
    ...(unequal === undefined ? {} : { unequal }),
    ...(unavailable === undefined ? {} : { unavailable }),
    ...(behaviours === undefined ? {} : { behaviours }),
  };
}

function isWhole(samples: Turns | undefined): boolean {
  return samples !== undefined && samples.length > 0 && samples.every(Number.isFinite);
}
