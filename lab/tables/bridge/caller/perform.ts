/**
 * Executes one order in the calling thread: loops over many calls, timed as a whole.
 *
 * Invariant: the clock is read once per 0.1 ms, not per call. Single calls are the exception: two readings cost 0.1
 * µs, and in a browser the clock moves in steps of 5 µs. There the median is taken over groups of calls, and only the
 * 99th percentile over single ones.
 */
import { median, quantile } from 'simple-statistics';
import type { Caller } from '../subject.js';
import { inFlight, isPayload, payloads, type Work } from '../work.js';
import { type Check, payloadCheck, rectCheck } from './check.js';
import type { Found, Order } from './order.js';

type Call = () => unknown;

/** Makes at least `calls` calls. Returns the number made. */
type Stretch = (calls: number) => number | Promise<number>;

/** Short, because the next stretch may take a thousand times longer if a busy process takes the other core. */
const stretchMilliseconds = 0.1;
const mostSingleCalls = 4_000;
/** If one call takes longer than a sample, sampling ends after this multiple of the time, with fewer samples. */
const mostOverrun = 3;

export async function perform(order: Order, caller: Caller, wholeNumbers: boolean): Promise<Found> {
  const { work } = order;
  if (work === 'idle') {
    await new Promise((resolve) => setTimeout(resolve, order.sampleMilliseconds));
    return { samples: {}, calls: 0 };
  }
  const check = isPayload(work) ? payloadCheck(work) : rectCheck(wholeNumbers);
  const { call, awaits } = callOf(caller, work);
  if (work === 'single') return single(order, call, awaits, check);
  return loops(order, stretchOf(work, caller, call, awaits, check));
}

function callOf(caller: Caller, work: Work): { readonly call: Call; readonly awaits: boolean } {
  if (work === 'async function') return { call: () => caller.rectOfAsync?.(), awaits: false };
  const awaits = caller.blocking === undefined || work === 'awaited' || work === 'in flight';
  const functions = awaits ? caller.awaited : caller.blocking;
  const { kind, length } = isPayload(work) ? payloads[work] : { kind: 'rect' as const, length: 0 };
  const called = functions?.[kind];
  if (!functions || !called) throw new Error(`${work}: this subject has no ${kind}`);
  // Called as a member, as an application does.
  const of = functions as Required<typeof functions>;
  const calls: Readonly<Record<typeof kind, Call>> = {
    rect: () => of.rect(),
    bytes: () => of.bytes(length),
    text: () => of.text(length),
    record: () => of.record(),
  };
  return { call: calls[kind], awaits };
}

function stretchOf(work: Work, caller: Caller, call: Call, awaits: boolean, check: Check): Stretch {
  if (work === 'batch of 8') return batches(caller, 8, check);
  if (work === 'batch of 64') return batches(caller, 64, check);
  if (work === 'in flight') return together(call, check);
  return awaits ? oneAfterTheOther(call, check) : blocking(call, check);
}

function blocking(call: Call, check: Check): Stretch {
  return (calls) => {
    for (let made = 0; made < calls; made++) check(call());
    return calls;
  };
}

function oneAfterTheOther(call: Call, check: Check): Stretch {
  return async (calls) => {
    for (let made = 0; made < calls; made++) check(await call());
    return calls;
  };
}

/** Each lane makes its next call when its last one is answered. */
function together(call: Call, check: Check): Stretch {
  const turnsPerStretch = 16;
  return async (calls) => {
    const turns = Math.max(turnsPerStretch, Math.ceil(calls / inFlight));
    const one = async () => {
      for (let made = 0; made < turns; made++) check(await call());
    };
    await Promise.all(Array.from({ length: inFlight }, one));
    return turns * inFlight;
  };
}

function batches(caller: Caller, size: number, check: Check): Stretch {
  return (calls) => {
    let made = 0;
    do {
      const answers = caller.batch?.(size) ?? [];
      if (answers.length !== size) throw new Error(`answered ${answers.length} of ${size} calls`);
      for (const answer of answers) check(answer);
      made += size;
    } while (made < calls);
    return made;
  };
}

/** Returns to the event loop, as any program does now and then; some libraries clean up only there. */
function toEventLoop(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

async function loops(order: Order, stretch: Stretch): Promise<Found> {
  let calls = 0;
  let perMillisecond = 0;

  async function sample(milliseconds: number): Promise<number> {
    const startedAt = performance.now();
    let made = 0;
    let gone = 0;
    do {
      made += await stretch(Math.max(1, Math.floor(perMillisecond * stretchMilliseconds)));
      gone = performance.now() - startedAt;
      perMillisecond = made / Math.max(gone, 0.005);
    } while (gone < milliseconds);
    calls += made;
    return (1_000 * made) / gone;
  }

  await sample(order.warmUpMilliseconds);
  const perSecond: number[] = [];
  const latest = performance.now() + mostOverrun * order.samples * order.sampleMilliseconds;
  do {
    perSecond.push(await sample(order.sampleMilliseconds));
    await toEventLoop();
  } while (perSecond.length < order.samples && performance.now() < latest);
  return { samples: { [order.work]: perSecond }, calls };
}

async function single(order: Order, call: Call, awaits: boolean, check: Check): Promise<Found> {
  const groups: number[] = [];
  const singles: number[] = [];
  const ends = performance.now() + order.sampleMilliseconds * order.samples;
  let calls = 0;
  do {
    const startedAt = performance.now();
    for (let made = 0; made < order.group; made++) check(awaits ? await call() : call());
    groups.push((1_000 * (performance.now() - startedAt)) / order.group);
    calls += order.group;
    if (order.group > 1) {
      const singleAt = performance.now();
      check(awaits ? await call() : call());
      singles.push(1_000 * (performance.now() - singleAt));
      calls += 1;
    }
  } while (performance.now() < ends && calls < mostSingleCalls * order.group);
  const timed = order.group > 1 ? singles : groups;
  return { samples: { p50: [median(groups)], p99: [quantile(timed, 0.99)] }, calls };
}
