/**
 * The primitives between processes under faults, in the short form of `make faults`, and the judge of locks, which must
 * detect those that break their promises. That of the limiter has a test beside it.
 */
import { Semaphore } from 'pointsman';
import { describe, expect, test } from 'vitest';
import type { Fault } from './faults/dist/faults/fault.js';
import { parseHistory } from './faults/dist/faults/history.js';
import { judge } from './faults/dist/faults/judge.js';
import { delayedReplies } from './faults/dist/faults/matrix/delayed-replies.js';
import { hostMatrix } from './faults/dist/faults/matrix/host.js';
import { matrix } from './faults/dist/faults/matrix/index.js';
import { limiterMatrix } from './faults/dist/faults/matrix/limiter.js';
import { leaderMatrix, millionMatrix } from './faults/dist/faults/matrix/shared.js';
import { stoppedHolder } from './faults/dist/faults/matrix/stopped-holder.js';
import { tryFault, unbounded, unchecked } from './faults/dist/faults/try.js';

const limit = 60_000;

// Trials mostly wait, so some run concurrently; more would be late on two processors.
const lanes = new Semaphore(4);

describe('the matrix', () => {
  // Load on the machine can delay a trial, so each has a second attempt.
  // Of the other locks, the row that kills and stops everything, and what only a leader does.
  const others = [...millionMatrix, ...leaderMatrix.slice(-1), ...limiterMatrix];
  for (const fault of [...matrix, ...hostMatrix, ...others]) {
    test.concurrent(
      `${fault.number} ${fault.name}`,
      { timeout: 4 * limit, retry: 1 },
      ({ expect, skip }) =>
        lanes.run(async () => {
          const missing = fault.missing?.();
          if (missing) skip(missing);
          const { violations, entered, counts } = await tryFault(fault, fault.short);
          expect(violations.map(({ trace }) => trace).join('\n')).toBe('');
          const { starts = 0, decisions = 0 } = counts;
          expect(entered + starts + decisions).toBeGreaterThan(0);
        }),
    );
  }
});

describe('the judge', () => {
  const kindsUnder = async (fault: Fault, subject: string) => {
    const { violations } = await lanes.run(() => tryFault(fault, fault.short, subject));
    return new Set(violations.map(({ kind }) => kind));
  };

  // A trial is short, and on a busy machine may show only one of the two violations.
  test.concurrent('detects a lock that does not check whether it still exists', {
    timeout: 4 * limit,
    retry: 2,
  }, async ({ expect }) => {
    const kinds = await kindsUnder(delayedReplies, unchecked);
    expect(kinds).toContain('overlap');
    expect(kinds).toContain('token');
  });

  test.concurrent('detects a lock that counts as held until it is released', {
    timeout: 4 * limit,
    retry: 2,
  }, async ({ expect }) => {
    const kinds = await kindsUnder(stoppedHolder, unbounded);
    expect(kinds).toContain('overlap');
    expect(kinds).toContain('silent');
  });

  const kindsOf = (...histories: string[][]) => {
    const parsed = histories.map((lines, index) =>
      parseHistory(`client-${index}`, lines.map((line) => `${line}\n`).join('')),
    );
    return judge(parsed).violations.map(({ kind }) => kind);
  };
  // enter <id> <time> <requested> <token> <guard> <keys>, then events of the id, each with its time
  const first = ['enter 1 100 50 7 valid a,b', 'leave 1 200 1'];

  test('accepts holders that follow each other', () => {
    expect(kindsOf(first, ['enter 1 201 60 8 valid b,c', 'leave 1 300 1'])).toEqual([]);
    expect(kindsOf(first, ['enter 1 150 60 8 valid c', 'leave 1 300 1'])).toEqual([]);
  });

  test('counts a holder as valid up to the last time its guard said so', () => {
    const second = ['enter 1 150 60 8 valid b', 'leave 1 300 1'];
    expect(kindsOf(first, second)).toEqual(['overlap']);
    expect(
      kindsOf(['enter 1 100 50 7 valid a,b', 'seen 1 140 1', 'leave 1 200 0'], second),
    ).toEqual([]);
    expect(kindsOf(['enter 1 100 50 7 valid a,b', 'seen 1 160 1'], second)).toEqual(['overlap']);
    expect(kindsOf(['enter 1 100 50 7 valid a,b'], second)).toEqual([]);
  });

  test('detects an overlap behind a shorter hold', () => {
    const long = ['enter 1 100 50 7 valid a', 'leave 1 500 1'];
    const short = ['enter 1 501 50 8 valid a', 'leave 1 502 1'];
    const nested = ['enter 2 200 50 7.5 valid a', 'leave 2 210 1', 'enter 3 300 50 7.7 valid a'];
    expect(kindsOf([...long, ...nested], short).filter((kind) => kind === 'overlap')).toHaveLength(
      2,
    );
  });

  test('detects an invalid grant, a loss without a signal, and a hold that becomes valid again', () => {
    expect(kindsOf(['enter 1 100 50 7 invalid a'])).toEqual(['late']);
    expect(kindsOf(['enter 1 100 50 7 overtaken a'])).toEqual([]);
    expect(kindsOf(['enter 1 100 50 7 valid a', 'leave 1 200 0', 'silent 1 300'])).toEqual([
      'silent',
    ]);
    expect(kindsOf(['enter 1 100 50 7 valid a', 'lost 1 150', 'seen 1 160 1'])).toEqual([
      'revived',
    ]);
    expect(kindsOf(['enter 1 100 50 7 valid a', 'lost 1 150', 'leave 1 160 0'])).toEqual([]);
  });

  test('detects a server state that contradicts a valid holder', () => {
    const entered = 'enter 1 100 50 7 valid a';
    expect(kindsOf([entered, 'usurped 1 150 given away'])).toEqual(['usurped']);
    expect(kindsOf([entered, 'forgotten 1 150 unknown'])).toEqual(['forgotten']);
    expect(kindsOf(['odd 0 150 an error'])).toEqual(['odd']);
  });

  test('detects tokens that do not grow, once for each pair of holders', () => {
    expect(kindsOf(first, ['enter 1 201 60 7 valid a,b', 'leave 1 300 1'])).toEqual(['token']);
    expect(kindsOf(first, ['enter 1 201 60 6 valid c', 'leave 1 300 1'])).toEqual([]);
  });

  // enter <id> <time> <requested> <token> <guard> <keys> <weight> <limit of the weights, 0 for none>
  const reader = (token: number, from: number, until: number) => [
    `enter 1 ${from} 50 ${token} valid a 1 0`,
    `leave 1 ${until} 1`,
  ];
  const writer = (token: number, from: number, until: number) => [
    `enter 1 ${from} 50 ${token} valid a`,
    `leave 1 ${until} 1`,
  ];
  const permits = (weight: number, token: number, from: number, until: number) => [
    `enter 1 ${from} 50 ${token} valid a ${weight} 3`,
    `leave 1 ${until} 1`,
  ];

  test('accepts readers together, and detects a writer beside one', () => {
    expect(kindsOf(reader(7, 100, 200), reader(8, 110, 190), writer(9, 201, 300))).toEqual([]);
    expect(kindsOf(reader(7, 100, 200), reader(8, 110, 150), writer(9, 160, 300))).toEqual([
      'overlap',
    ]);
    expect(kindsOf(writer(7, 100, 200), reader(8, 150, 300))).toEqual(['overlap']);
  });

  test('a writer that has become a reader no longer excludes readers', () => {
    const downgraded = (at: number) => [
      'enter 1 100 50 7 valid a',
      `downgrade 1 ${at}`,
      'leave 1 200 1',
    ];
    expect(kindsOf(downgraded(120), reader(8, 130, 300))).toEqual([]);
    expect(kindsOf(downgraded(140), reader(8, 130, 300))).toEqual(['overlap']);
    expect(kindsOf(downgraded(120), writer(8, 190, 300))).toEqual(['overlap']);
  });

  test('detects more weight than the limit', () => {
    expect(kindsOf(permits(2, 7, 100, 200), permits(1, 8, 110, 300))).toEqual([]);
    expect(kindsOf(permits(2, 7, 100, 200), permits(2, 8, 201, 300))).toEqual([]);
    expect(kindsOf(permits(2, 7, 100, 200), permits(2, 8, 150, 300))).toEqual(['overlap']);
    expect(
      kindsOf(permits(1, 7, 100, 200), permits(1, 8, 110, 200), permits(2, 9, 120, 130)),
    ).toEqual(['overlap']);
  });

  test('knows the order of grants that exclude each other or follow each other', () => {
    // Readers may enter in another order than they were granted in.
    expect(kindsOf(reader(8, 100, 200), reader(7, 110, 190))).toEqual([]);
    expect(kindsOf(permits(1, 8, 100, 200), permits(1, 7, 110, 190))).toEqual([]);
    expect(kindsOf(reader(8, 100, 200), writer(7, 210, 300))).toEqual(['token']);
    expect(kindsOf(permits(2, 8, 100, 200), permits(2, 7, 210, 300))).toEqual(['token']);
    const later = ['enter 1 110 105 7 valid a 1 0', 'leave 1 190 1'];
    expect(kindsOf(reader(8, 100, 200), later)).toEqual(['token']);
  });

  test('simulates a fenced store', () => {
    const second = ['enter 1 150 60 8 valid a', 'leave 1 160 1'];
    // The first holder writes when it leaves, invalid by then; the store rejects the write unless its token is
    // higher.
    const late = (token: number) => [`enter 1 100 50 ${token} valid a`, 'leave 1 200 0'];
    const judged = judge([
      parseHistory('one', `${late(7).join('\n')}\n`),
      parseHistory('two', `${second.join('\n')}\n`),
    ]);
    expect(judged).toEqual({ violations: [], staleWritesRefused: 1 });
    expect(kindsOf(late(9), ['enter 1 150 60 9 valid a', 'leave 1 160 1'])).toContain(
      'stale write',
    );
  });

  test('ignores the incomplete last line of a killed process', () => {
    const { holds } = parseHistory('killed', 'enter 1 100 50 7 valid a\nleave 1 20');
    expect(holds).toMatchObject([{ id: 1, entered: 100, lastValid: 100 }]);
  });
});
