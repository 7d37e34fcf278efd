/**
 * Executes one order in the calling thread: loops over many calls, timed as a whole.
 *
 * Invariant: a loop reads the clock about once per 0.1 ms, not per call. Only single calls are timed each, for their
 * 99th percentile, which the browser's clock step of 5 µs does not distort much.
 */
import { mean, quantile, sampleStandardDeviation } from 'simple-statistics';
import { textOf } from '../host/functions.js';
import type { Caller } from '../subject.js';
import { batchSize, inFlight, isPayload, payloads, sourceLength, type Work } from '../work.js';
import { type Check, payloadCheck, rectCheck, sourceCheck } from './check.js';
import type { Found, Order } from './order.js';

type Call = () => unknown;

/** Makes at least `calls` calls. Returns the number made. */
type Stretch = (calls: number) => number | Promise<number>;

/** Short, because the next stretch may take a thousand times longer if a busy process takes the other core. */
const stretchMilliseconds = 0.1;
/** The step of a browser's clock, in milliseconds. */
const clockStep = 0.005;
const mostSingleCalls = 100_000;
/** Calls are not timed in this time: the threads have slept since the last order. */
const leadMilliseconds = 5;
/** The half-width of a 95 % interval, in standard errors of a normal distribution. */
const standardErrors = 1.96;

/** The document's other columns. */
export const averageTime = 'call, average time';
export const margin = 'call, margin';
export const timedCalls = 'call, samples';

export async function perform(order: Order, caller: Caller, wholeNumbers: boolean): Promise<Found> {
  const { work, milliseconds } = order;
  if (work === 'idle') {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    return { samples: {}, calls: 0 };
  }
  const check = checkOf(work, wholeNumbers);
  const { call, awaits } = callOf(caller, work);
  const stretch = stretchOf(work, caller, call, awaits, check);
  caller.resume?.();
  const lead = await loop(stretch, leadMilliseconds);
  const found =
    work === 'single'
      ? await single(milliseconds, call, awaits, check)
      : loopSamples(work, await loop(stretch, milliseconds));
  caller.rest?.();
  return { ...found, calls: lead.calls + found.calls };
}

function checkOf(work: Work, wholeNumbers: boolean): Check {
  if (work === 'source text') return sourceCheck;
  return isPayload(work) ? payloadCheck(work) : rectCheck(wholeNumbers);
}

function callOf(caller: Caller, work: Work): { readonly call: Call; readonly awaits: boolean } {
  if (work === 'async function') return { call: () => caller.rectOfAsync?.(), awaits: false };
  if (work === 'source text') {
    const text = textOf(sourceLength);
    return { call: () => caller.blocking?.format?.(text), awaits: false };
  }
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
  if (work === 'batch of 8') return batches(caller, check);
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

/** Makes calls in lanes: each lane makes its next call when its last one is answered. */
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

function batches(caller: Caller, check: Check): Stretch {
  return (calls) => {
    let made = 0;
    do {
      const answers = caller.batch?.(batchSize) ?? [];
      if (answers.length !== batchSize) {
        throw new Error(`answered ${answers.length} of ${batchSize} calls`);
      }
      for (const answer of answers) check(answer);
      made += batchSize;
    } while (made < calls);
    return made;
  };
}

interface Looped {
  readonly calls: number;
  readonly milliseconds: number;
  /** The mean time of a call in each stretch. */
  readonly perCall: readonly number[];
}

async function loop(stretch: Stretch, milliseconds: number): Promise<Looped> {
  const startedAt = performance.now();
  const perCall: number[] = [];
  let calls = 0;
  let last = startedAt;
  let wanted = 1;
  do {
    const made = await stretch(wanted);
    const now = performance.now();
    const gone = now - last;
    wanted = Math.max(1, Math.floor((stretchMilliseconds * made) / Math.max(gone, clockStep)));
    perCall.push(gone / made);
    calls += made;
    last = now;
  } while (last - startedAt < milliseconds || perCall.length < 2);
  return { calls, milliseconds: last - startedAt, perCall };
}

function loopSamples(work: Work, { calls, milliseconds, perCall }: Looped): Found {
  const samples = { [work]: (1_000 * calls) / milliseconds };
  if (work === 'call') {
    const error = sampleStandardDeviation([...perCall]) / Math.sqrt(perCall.length);
    samples[averageTime] = (1e6 * milliseconds) / calls;
    samples[margin] = (100 * standardErrors * error) / mean([...perCall]);
    samples[timedCalls] = calls;
  }
  return { samples, calls };
}

async function single(
  milliseconds: number,
  call: Call,
  awaits: boolean,
  check: Check,
): Promise<Found> {
  const microseconds: number[] = [];
  const ends = performance.now() + milliseconds;
  let last: number;
  do {
    const startedAt = performance.now();
    check(awaits ? await call() : call());
    last = performance.now();
    microseconds.push(1_000 * (last - startedAt));
  } while (last < ends && microseconds.length < mostSingleCalls);
  // A time below the clock's step counts as one step, because no ratio can be taken to 0.
  const p99 = quantile(microseconds, 0.99) || 1_000 * clockStep;
  return { samples: { p99 }, calls: microseconds.length };
}
