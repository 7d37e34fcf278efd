import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { within } from '../../../harness/watch.js';
import handOverInProcess from '../floors/hand-over-in-process.js';
import { Judge } from '../judge.js';
import { FileJudge } from '../processes/file-judge.js';
import { PermitsJudge } from '../processes/permits-judge.js';
import type { LockClient } from '../subject.js';
import { fairness, slowestWaits } from './fairness.js';
import { drawFrom, keySets } from './keys.js';
import { takeTurns } from './take-turns.js';

const draw = () => ['a'];

describe('the judge', () => {
  it('fails a lock that grants two turns at once', async () => {
    const open: LockClient = {
      lock: async () => {},
      unlock: async () => {},
      close: async () => {},
    };
    await expect(takeTurns(open, draw, 100)).rejects.toThrow(/while another turn was running/);
  });

  it('passes a correct lock, and counts its turns', async () => {
    const queue = await handOverInProcess.connect({ host: '', port: 0 }, '');
    const taken = await takeTurns(queue, draw, 100);
    expect(taken.fairness).toBe(1);
    expect(taken.longest).toBeGreaterThanOrEqual(taken.p99);
  });

  it('detects a lost update', async () => {
    const judge = new Judge();
    await Promise.all([judge.turn(undefined), judge.turn(undefined)]);
    expect(judge.turns).toBe(1);
  });

  it('detects a turn beyond the permits of a semaphore, of another process too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'judge-'));
    const tally = join(folder, 'tally');
    PermitsJudge.prepare(tally, 4);
    const [here, there] = [new PermitsJudge(tally, 4, 2), new PermitsJudge(tally, 4, 2)];
    const pause = async () => {};
    await Promise.all([here.turn(0, pause), there.turn(2, pause)]);
    expect([here.intruders, there.intruders]).toEqual([0, 0]);
    await Promise.all([here.turn(0, pause), here.turn(1, pause), there.turn(3, pause)]);
    expect([here.intruders, there.intruders]).toEqual([0, 1]);
    for (const judge of [here, there]) judge.close();
    rmSync(folder, { recursive: true });
  });

  it('detects a turn of another process through the file in which both count', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'judge-'));
    const tally = join(folder, 'tally');
    FileJudge.prepare(tally);
    const [here, there] = [new FileJudge(tally), new FileJudge(tally)];
    await here.turn(undefined);
    expect([there.turns, there.intruders]).toEqual([1, 0]);
    await Promise.all([here.turn(async () => {}), there.turn(async () => {})]);
    expect([here.turns, there.intruders]).toEqual([2, 1]);
    for (const judge of [here, there]) judge.close();
    rmSync(folder, { recursive: true });
  });
});

describe('key sets', () => {
  it('are drawn from all keys, without repeats, and always share one', () => {
    for (const keySet of keySets) {
      const next = drawFrom(keySet, 'k');
      const drawn = Array.from({ length: 200 }, next);
      expect(new Set(drawn.flat()).size).toBe(2 * keySet.size - 1);
      for (const [index, keys] of drawn.entries()) {
        expect(new Set(keys).size).toBe(keySet.size);
        expect(keys.some((key) => drawn[(index + 1) % drawn.length]?.includes(key))).toBe(true);
      }
    }
  });
});

describe('measures beside a rate', () => {
  it('include how evenly the turns were shared', () => {
    expect(fairness([5, 5, 5, 5])).toBe(1);
    expect(fairness([20, 0, 0, 0])).toBe(0.25);
  });

  it('include the slowest waits, from waits in any order', () => {
    const waits = Float64Array.from({ length: 101 }, (_, index) => (index * 37) % 101);
    expect(slowestWaits(waits)).toEqual({ p99: 99, longest: 100 });
  });
});

it('ends hanging work, and says how far it got', async () => {
  const never = new Promise(() => {});
  await expect(within(1, never, () => '3 of 5 turns')).rejects.toThrow(
    '3 of 5 turns after 0.001 s',
  );
});
