/**
 * The number of turns of `spin` per microsecond on this machine.
 *
 * Invariant: determined once in a run, before the first cell, and passed on to every cell's process, so that a task is
 * the same work for every subject.
 */
import { usedMicroseconds } from '../../../harness/sample.js';
import { spin } from '../tasks/functions.js';

const variable = 'LAB_TURNS_PER_MICROSECOND';
const passes = 10;
const turnsPerPass = 5_000_000;

/** For the processes that this one starts. */
export function findTurnsPerMicrosecond(): void {
  process.env[variable] = String(calibrated());
}

/** An even number, so that a task can do half of it twice. */
export function turnsIn(microseconds: number): number {
  if (process.env[variable] === undefined) findTurnsPerMicrosecond();
  return 2 * Math.round((Number(process.env[variable]) * microseconds) / 2);
}

/** By processor time, which other programs hardly change. The fastest pass counts; the first ones compile. */
function calibrated(): number {
  const microseconds = Array.from({ length: passes }, () => {
    const before = usedMicroseconds();
    spin(turnsPerPass);
    return usedMicroseconds() - before;
  });
  return turnsPerPass / Math.min(...microseconds);
}
