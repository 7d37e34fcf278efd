/**
 * Which function waits for what, followed exactly through promises: the way from a permit to the function that holds
 * it, and from there through whatever it awaits to the wait that keeps it from going on.
 *
 * V8 tells of each promise that is made and of which promise it waits for. Three facts make lines of execution of that:
 * - `await p` makes a promise whose parent is `p`; what runs behind that `await` runs as this promise's job. So a function
 *   that has awaited once is known by the job that it runs in, as long as the stack below it is empty.
 * - An async function makes its own promise when it is entered, before anything else, and while it runs for the first
 *   time the stack below it stands still. So its first `await` is known by the stack below.
 * - Its own promise is resolved when it ends, from its own frame.
 *
 * Invariant: nothing is guessed. What cannot be told for certain (a promise that is resolved by hand, `Promise.race`, a permit
 * with two that await it) ends the way, so that a line that may still go on is never taken for one that cannot.
 *
 * The hooks are there while something watched is held or waited for. Stacks are taken only of what follows from that.
 */

import { childOf, link, setChild, unlink } from './links.js';
import { platform } from './platform.js';
import { type Hold, Line, onCount, type Wait } from './record.js';
import { captureFrames, type Frame } from './stack.js';

/** Who ends with this promise: the async function that it belongs to, the callback that it is the result of. */
const lines = new WeakMap<object, Line>();
/** Who goes on in this promise's job. */
const jobs = new WeakMap<object, Line>();
const waits = new WeakMap<object, Wait>();
/** What a promise brings to whoever awaits it, if that came before anybody did. */
const cargo = new WeakMap<object, { readonly holds: Hold[]; isTaken: boolean }>();
/** What has gone to whoever awaits it, as far as one knew. */
const passed = new WeakMap<object, Hold[]>();
/** Where it goes on: from a part to `Promise.all`, from what follows a promise to what was resolved with that. */
const onwards = new WeakMap<object, object>();

/** The promise whose job runs. */
let job: object | undefined;
/** An async function that has been entered, and has not awaited anything yet. */
interface Entered {
  readonly promise: object;
  readonly key: string;
}
let entered: Entered[] = [];
/** The `Promise.all` that is being put together. */
let gathering: object | undefined;
/** What was just asked for or taken, and is about to be awaited or to be known by the next `await`. */
let fresh = 0;
let taken: { readonly hold: Hold; readonly keys: readonly string[] }[] = [];
/** The promise that was made last, if it waits for another, and what was known of that one's child before. */
let last:
  | { readonly promise: object; readonly parent: object; readonly child: object | null | undefined }
  | undefined;
/** What `await` has made of a value that is no promise. */
let wrapper: object | undefined;
/** While our own promises are made. */
let muted = false;
let suspended: (line: Line) => void = () => {};

const isBuiltin = (frame: Frame | undefined, ...names: string[]): boolean =>
  frame !== undefined &&
  frame.getLineNumber() === null &&
  names.includes(frame.getFunctionName() ?? '');

const placeOf = (frame: Frame): string =>
  `${frame.getFileName()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;

/** What stays the same while a function runs for the first time: the function, and all that is below it. */
function keyOf([top, ...below]: readonly Frame[]): string {
  const start = `${top?.getEnclosingLineNumber?.()}:${top?.getEnclosingColumnNumber?.()}`;
  return `${top?.getFileName()}:${start} ${below.map(placeOf).join()}`;
}

/** The frames of this synchronous run, without those of the runtime that call hooks and run microtasks. */
function framesOf(below: unknown): readonly Frame[] {
  const frames = captureFrames(below);
  const first = frames.findIndex((frame) => frame.getFileName() !== 'node:internal/promise_hooks');
  const end = frames.findIndex(
    (frame) => frame.isAsync() || frame.getFileName() === 'node:internal/process/task_queues',
  );
  const here = frames.slice(Math.max(first, 0), end < 0 ? frames.length : end);
  return isBuiltin(here.at(-1), 'runMicrotasks') ? here.slice(0, -1) : here;
}

function lineOf(map: WeakMap<object, Line>, promise: object): Line {
  let line = map.get(promise);
  if (line === undefined) {
    line = new Line();
    map.set(promise, line);
  }
  return line;
}

/** Whether what happens now may lead from what is held to what is waited for. */
const matters = (): boolean => fresh > 0 || (job !== undefined && jobs.has(job));

function init(promise: object, parent: object | undefined): void {
  if (muted) return;
  last = undefined;
  if (parent === undefined) {
    if (!matters()) return;
    const frames = framesOf(init);
    if (isBuiltin(frames[0], 'all', 'allSettled')) gathering = promise;
    else if (frames[0]?.getLineNumber() != null) entered.push({ promise, key: keyOf(frames) });
    return;
  }
  last = { promise, parent, child: childOf(parent) };
  link(promise, parent);
  if (matters() || waits.has(parent) || cargo.has(parent) || lines.has(parent)) {
    suspend(promise, parent, framesOf(init));
  }
  const brought = cargo.get(parent);
  if (brought === undefined) return;
  for (const hold of brought.holds) {
    if (brought.isTaken) give(hold, undefined);
    else deliverTo(promise, hold);
  }
  brought.isTaken = true;
}

/** A promise has been made that waits for another. */
function suspend(promise: object, parent: object, frames: readonly Frame[]): void {
  let line: Line;
  const [top, caller] = frames;
  if (isBuiltin(top, 'then') && frames.length === 1) {
    // The engine itself: what this job belongs to was resolved with the parent, and follows it.
    if (job === undefined) return;
    onwards.set(promise, job);
    line = lineOf(lines, job);
    // So it has not ended with what it was resolved with: it still has what it holds.
    for (const hold of passed.get(job) ?? []) {
      if (hold.unproven.at(-1) !== job) continue;
      hold.unproven.pop();
      give(hold, line);
    }
    passed.delete(job);
  } else if (isBuiltin(top, 'then') && isBuiltin(caller, 'all', 'allSettled')) {
    if (gathering === undefined) return;
    onwards.set(promise, gathering);
    lineOf(lines, gathering).awaits.push(parent);
    return;
  } else if (isBuiltin(top, 'then')) {
    if (isBuiltin(caller, 'race', 'any')) return;
    line = lineOf(lines, promise);
  } else if (top === undefined || isBuiltin(top, top.getFunctionName() ?? '')) {
    return;
  } else {
    line = (parent === wrapper ? jobs.get(parent) : undefined) ?? awaiting(frames);
  }
  jobs.set(promise, line);
  line.awaits = [parent];
  suspended(line);
}

/** The line of the function that awaits something, at the top of these frames. */
function awaiting(frames: readonly Frame[]): Line {
  const key = keyOf(frames);
  const index = entered.findIndex((each) => each.key === key);
  const [start] = index < 0 ? [] : entered.splice(index, 1);
  const current = frames.length === 1 && job !== undefined ? lineOf(jobs, job) : undefined;
  const line = start === undefined ? (current ?? new Line()) : lineOf(lines, start.promise);
  // An async function that is called as a callback has what was granted to the callback.
  if (current !== undefined) for (const hold of [...current.holds]) give(hold, line);
  for (const { hold, keys } of taken) if (keys.includes(key)) give(hold, line);
  taken = taken.filter(({ keys }) => !keys.includes(key));
  return line;
}

function give(hold: Hold, line: Line | undefined): void {
  hold.line?.holds.delete(hold);
  hold.line = line;
  line?.holds.add(hold);
}

/** A promise that brings a hold is being resolved: whoever awaits it has the hold. */
function deliver(promise: object, hold: Hold): void {
  if (hold.permit.released) return;
  const child = childOf(promise);
  if (child !== undefined && child !== null) {
    deliverTo(child, hold);
    return;
  }
  give(hold, undefined);
  if (child === null) return;
  const brought = cargo.get(promise);
  if (brought === undefined) cargo.set(promise, { holds: [hold], isTaken: false });
  else brought.holds.push(hold);
}

function deliverTo(child: object, hold: Hold): void {
  const onward = onwards.get(child);
  if (onward === undefined) give(hold, lineOf(jobs, child));
  else deliver(onward, hold);
}

function before(promise: object): void {
  unlink(promise);
  start(promise);
  const line = jobs.get(promise);
  if (line !== undefined) line.awaits = [];
}

/**
 * Whether `await` has just made this of a value that is no promise: it is settled at once, and its parent is the function's
 * own promise, for which it does not wait.
 */
function isWrapper(promise: object): boolean {
  if (last?.promise !== promise) return false;
  setChild(last.parent, last.child);
  return true;
}

function settled(promise: object): void {
  if (isWrapper(promise)) {
    wrapper = promise;
    return;
  }
  if (entered.length > 0) entered = entered.filter((each) => each.promise !== promise);
  if (job === undefined) return;
  const line = jobs.get(job);
  if (line === undefined || line.holds.size === 0 || !isEnd(promise, job, line)) return;
  // It has ended and has not given everything back: its caller has what is left, if that is what it was given.
  const left = [...line.holds];
  passed.set(promise, left);
  for (const hold of left) {
    hold.unproven.push(promise);
    deliver(promise, hold);
  }
}

/** Whether the line that runs as this job ends with this promise. */
function isEnd(promise: object, job: object, line: Line): boolean {
  if (promise === job) return lines.get(job) === line;
  if (promise === onwards.get(job)) return true;
  // Its own promise is what a function resolves from its own frame, with nothing above and nothing below.
  const frames = framesOf(settled);
  return frames.length === 1 && frames[0]?.getLineNumber() != null;
}

const isOf = (permit: object, value: unknown): boolean =>
  value === permit ||
  (Object(value) === value &&
    Object.values(Object.getOwnPropertyDescriptors(value)).some((each) => each.value === permit));

/**
 * Makes sure that a hold has really gone to whoever awaited the functions that ended with it: that it is what they returned,
 * or a part of that. Otherwise nobody knows who has it. Undefined if it is sure already.
 */
export function prove(hold: Hold): Promise<void> | undefined {
  const { unproven } = hold;
  if (unproven.length === 0) return undefined;
  return unseen(async () => {
    const values = await Promise.allSettled(unproven);
    if (!values.every((each) => each.status === 'fulfilled' && isOf(hold.permit, each.value))) {
      give(hold, undefined);
    }
    unproven.length = 0;
  });
}

/** Another synchronous run begins. */
function start(promise: object | undefined): void {
  job = promise;
  fresh = 0;
  last = gathering = wrapper = undefined;
  if (entered.length > 0) entered = [];
  if (taken.length > 0) taken = [];
}

const after = (): void => start(undefined);

let stop: (() => void) | undefined;
let mode: 'off' | 'idle' | 'on' = 'off';
/** Undefined before anybody has asked. */
let works: boolean | undefined;

/** What is there while nothing is held or waited for. */
const idle = {
  init(promise: object, parent: object | undefined): void {
    if (parent === undefined || muted) return;
    last = { promise, parent, child: childOf(parent) };
    link(promise, parent);
  },
  before(promise: object): void {
    last = undefined;
    unlink(promise);
  },
  settled: (promise: object): void => void isWrapper(promise),
};

/** Whether the hooks say what this relies on: they may be there and do nothing. */
function check(): boolean {
  const { hookPromises } = platform();
  if (hookPromises === undefined || captureFrames(check)[0]?.getEnclosingLineNumber === undefined) {
    return false;
  }
  try {
    const awaited = Promise.resolve();
    let isSeen = false;
    const end = hookPromises({
      init: (_, parent) => {
        isSeen ||= parent === awaited;
      },
    });
    void (async () => {
      await awaited;
    })();
    end();
    return isSeen;
  } catch {
    return false;
  }
}

/** Whether promises can be followed in this runtime. */
export function canFollow(): boolean {
  works ??= check();
  return works;
}

// Who awaits what is kept while anything is watched: a function may be awaited before it locks.
onCount((total, watched) => {
  const next = !canFollow() || watched === 0 ? 'off' : total === 0 ? 'idle' : 'on';
  if (next === mode) return;
  mode = next;
  stop?.();
  start(undefined);
  const { hookPromises } = platform();
  if (mode === 'off') stop = undefined;
  else stop = hookPromises?.(mode === 'on' ? { init, before, after, settled } : idle);
});

/** Calls it whenever a line begins to wait for something. */
export function onSuspend(listener: (line: Line) => void): void {
  suspended = listener;
}

/** Makes promises that are none of the program's. */
export function unseen<Result>(fn: () => Result): Result {
  const before = muted;
  muted = true;
  try {
    return fn();
  } finally {
    muted = before;
  }
}

/** A call has returned this promise, which is pending for as long as the wait lasts. */
export function followWait(promise: object, wait: Wait): void {
  if (mode !== 'on') return;
  waits.set(promise, wait);
  fresh++;
}

/** The promise is about to be resolved with what is held. */
export function followHold(promise: object, hold: Hold): void {
  if (mode === 'on') deliver(promise, hold);
}

/** Whoever held something holds this instead. */
export const followHeld = (hold: Hold, line: Line | undefined): void => give(hold, line);

/** The caller of `below` has this from now on, without having awaited anything. */
export function followTaken(hold: Hold, below: unknown): void {
  if (mode !== 'on') return;
  const frames = framesOf(below);
  if (frames.length === 1 && job !== undefined) give(hold, lineOf(jobs, job));
  // Of the functions that it was called by, the first that awaits something is the one that goes on with it.
  else taken.push({ hold, keys: frames.map((_, index) => keyOf(frames.slice(index))) });
  fresh++;
}

/** The promise that `run` has returned is settled when this line has ended. */
export function followRun(promise: object, line: Line): void {
  if (mode === 'on') lines.set(promise, line);
}

/** Calls `fn` as this line, which holds this until the result has settled. */
export function runAs<Result>(line: Line, hold: Hold, fn: () => Result): Result {
  if (mode !== 'on') return fn();
  give(hold, line);
  fresh++;
  const result = fn();
  if (result instanceof Promise) line.awaits = [result];
  suspended(line);
  return result;
}

/** What a line cannot go on without, through all that it awaits. */
export function waitsOf(line: Line, met = new Set<Line>()): Wait[] {
  if (met.has(line)) return [];
  met.add(line);
  return line.awaits.flatMap((promise) => {
    const wait = waits.get(promise);
    if (wait !== undefined && !wait.isOver) return [wait];
    const next = lines.get(promise);
    return next === undefined ? [] : waitsOf(next, met);
  });
}
