/** The functions that tests call with `connectSync`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceLimits, workerData } from 'node:worker_threads';
import { transfer } from 'pointsman/bridge';

// The host blocks meanwhile.
await sleep(5);

class FormatError extends TypeError {
  name = 'FormatError';
  code = 'E_FORMAT';
}

export async function later(value) {
  await sleep(1);
  return value;
}

export const same = (value) => value;

export const inner = { deep: () => 'deep' };

export const constant = 1;

export default () => 'the default';

export const never = () => new Promise(() => {});

export const size = (buffer) => buffer.byteLength;

export function made(size) {
  const buffer = new ArrayBuffer(size);
  return transfer(buffer, [buffer]);
}

export const call = (callback, n) => callback(n);

export function compute(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return milliseconds;
}

export function fail() {
  throw Object.assign(new FormatError('unexpected token', { cause: new RangeError('line 3') }), {
    position: { line: 3 },
    socket: new WeakMap(),
  });
}

export async function failLater() {
  await sleep(1);
  throw new Error('later');
}

export function throwValue(value) {
  throw value;
}

export const surroundings = () => ({
  workerData,
  argument: process.argv[2],
  name: process.env.NAME,
  isPreloaded: globalThis.isPreloaded,
  heap: resourceLimits.maxOldGenerationSizeMb,
});

export const exit = (code) => process.exit(code);

export function crash() {
  setImmediate(() => {
    throw new RangeError('in a callback of the event loop');
  });
  return new Promise(() => {});
}

export function allocate() {
  const all = [];
  for (;;) all.push(new Array(100_000).fill(0.5));
}
