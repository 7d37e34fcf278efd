/** The judge of `make faults` for limiters: it must detect what breaks the law, and accuse nothing else. */
import { describe, expect, test } from 'vitest';
import { judgeLimiter } from './faults/dist/faults/limiter/judge.js';
import type { Line } from './faults/dist/faults/limiter/log.js';
import type { Plan } from './faults/dist/faults/limiter/plans.js';

const plan: Plan = {
  name: 'api',
  rate: [{ name: 'rate', limit: 2, per: 100 }],
  keys: ['k'],
  heaviest: 1,
  waiters: 1,
  pollers: 0,
};

/** Milliseconds of the machine's clock in nanoseconds, and of the store's, which is an hour ahead, in microseconds. */
const machine = (ms: number): number => ms * 1e6;
const store = (ms: number): number => (ms + 3_600_000) * 1e3;

interface Granted {
  readonly delay?: number;
  readonly count?: number;
  readonly lease?: number;
  readonly weight?: number;
}

/** The store decides at `ms`, and the reply is instantaneous. */
function grant(ms: number, { delay = 0, count = 1, lease = 0, weight = 1 }: Granted = {}): Line {
  const groups = [
    { limiter: '3:api', weights: [weight], at: store(ms + delay + lease) },
    { limiter: '3:api:k', weights: [], at: store(ms + delay + lease) },
  ];
  const [sent, received] = [machine(ms), machine(ms)];
  return { kind: 'grant', sent, received, delay: delay * 1e3, time: lease * 1e3, count, groups };
}

function correct(ms: number, at: number, weight: number): Line[] {
  const groups = [
    { limiter: '3:api', weights: [weight], at: at === 0 ? 0 : store(at) },
    { limiter: '3:api:k', weights: [], at: at === 0 ? 0 : store(at) },
  ];
  const sent = machine(ms);
  return [
    { kind: 'correction', sent, groups },
    { kind: 'correction', sent, received: sent, groups },
  ];
}

let id = 0;
function start(ms: number, weight = 1, until = ms, actual = weight): Line[] {
  id += 1;
  return [
    { kind: 'start', id, plan: 'api', key: 'k', weight, at: machine(ms) },
    { kind: 'end', id, at: machine(until), weight: actual },
  ];
}

function judge(
  logs: readonly (readonly Line[])[],
  changed: Partial<Plan> = {},
  losses: number[] = [],
) {
  const processes = logs.map((lines, i) => ({ name: `process-${i}`, lines }));
  const given = { losses: losses.map(machine), ttl: 1_000 };
  const judged = judgeLimiter([{ ...plan, ...changed }], processes, given);
  return { ...judged, kinds: judged.violations.map(({ kind }) => kind) };
}

describe('windows', () => {
  test('of the starts of all processes together', () => {
    const one = [grant(0), ...start(0), grant(100), ...start(100)];
    expect(judge([one, [grant(50), ...start(50)]]).kinds).toEqual([]);
    expect(judge([one, [grant(50), ...start(50), grant(60), ...start(60)]]).kinds).toEqual([
      'above the limit',
      'above the limit',
    ]);
    expect(judge([one]).windows).toBe(2);
  });

  test('of the moments that the store gave, however late a start is', () => {
    const late = [grant(0, { count: 2 }), ...start(60), ...start(60), grant(1, { delay: 99 })];
    expect(judge([[...late, ...start(101)]]).kinds).toEqual([]);
  });

  test('without what was given back, and with what was added before', () => {
    const wrong = [grant(0, { weight: 2 }), ...correct(5, 9, -1)];
    expect(() => judge([wrong])).toThrow('given back without a grant');
    const lines = [grant(1, { weight: 2 }), ...start(1, 2, 5, 1), ...correct(5, 1, -1)];
    expect(judge([[...lines, grant(50), ...start(50)]]).kinds).toEqual([]);
    const added = [grant(0), ...start(0, 1, 5, 2), ...correct(5, 0, 1)];
    expect(judge([[...added, grant(50), ...start(50)]]).kinds).toEqual(['above the limit']);
    expect(judge([[...added, grant(4), ...start(4)]]).kinds).toEqual([]);
  });

  test('that a loss of the state separates', () => {
    const before = [grant(0), ...start(0), grant(10), ...start(10)];
    const after = [grant(30), ...start(30), grant(40), ...start(40)];
    expect(judge([[...before, ...after]], {}, [20])).toMatchObject({ kinds: [], forgotten: 2 });
    const more = [grant(45), ...start(45)];
    expect(judge([[...before, ...after, ...more]], {}, [20]).kinds).toEqual(['above the limit']);
  });

  test('and buckets', () => {
    const rate = [{ name: 'rate', limit: 10, per: 100, burst: 2 }];
    const lines = [grant(0), ...start(0), grant(0), ...start(0), grant(10), ...start(10)];
    expect(judge([lines], { rate }).kinds).toEqual([]);
    expect(judge([[...lines, grant(15), ...start(15)]], { rate }).kinds).toEqual([
      'above the limit',
    ]);
  });
});

describe('starts', () => {
  test('without a grant, or before their moment', () => {
    expect(judge([[grant(0), ...start(0), ...start(1)]]).kinds).toEqual(['early']);
    expect(judge([[grant(0, { delay: 50 }), ...start(49)]]).kinds).toEqual(['early']);
    expect(judge([[grant(0, { delay: 50 }), ...start(51)]]).kinds).toEqual([]);
    expect(judge([[grant(0)], start(1)]).kinds).toEqual(['early']);
    expect(judge([[grant(1), ...correct(2, 1, -1), ...start(3)]]).kinds).toEqual(['early']);
  });

  test('of a lease are judged by their real time', () => {
    const leased = { lease: 2, rate: [{ name: 'rate', limit: 2, per: 100 }] };
    const lease = grant(0, { count: 2, lease: 10 });
    const used = [lease, ...start(1), ...start(9)];
    expect(judge([[...used, grant(105), ...start(105)]], leased).kinds).toEqual([]);
    // Of the second start the window that began at 9 still has one.
    const both = [...used, grant(105), ...start(105), grant(106), ...start(106)];
    expect(judge([both], leased).kinds).toEqual(['above the limit']);
    expect(judge([[lease, ...start(1), ...start(90)]], leased).kinds).toEqual(['early']);
    const pause: Line = { kind: 'pause', from: machine(5), until: machine(90) };
    expect(judge([[lease, ...start(1), pause, ...start(90)]], leased)).toMatchObject({
      kinds: [],
      late: 1,
    });
  });
});

test('more weight runs than the concurrency', () => {
  const many = { concurrency: 2, rate: [{ name: 'rate', limit: 9, per: 100 }] };
  const one = [grant(0), ...start(0, 1, 50), grant(10, { weight: 1 }), ...start(10, 1, 20)];
  expect(judge([one, [grant(30), ...start(30, 1, 40)]], many).kinds).toEqual([]);
  expect(judge([one, [grant(15), ...start(15, 1, 40)]], many).kinds).toEqual(['overlap']);
  // What a process holds through a long pause may be lost.
  const pause: Line = { kind: 'pause', from: machine(12), until: machine(600) };
  const paused = [grant(0, { weight: 2 }), ...start(0, 2, 900), pause];
  expect(judge([paused, [grant(700), ...start(700, 1, 800)]], many).kinds).toEqual([]);
});
