/** Events: to listeners of this module everywhere, and to subscribers of Node's `diagnostics_channel` where that exists. */

import { invalid } from '../sync/errors.js';
import { type Channel, platform } from './platform.js';
import type { Activity, Deadlock } from './reports.js';
import { format } from './snapshot.js';

/** What each event tells. */
export interface DiagnosticsEvents {
  /** A call has begun to wait. */
  readonly wait: Activity;
  /** A call holds what it asked for; its `age` is 0. */
  readonly acquire: Activity;
  /** What was held has gone back; `age` is how long it was held. */
  readonly release: Activity;
  /** It has been held for longer than `heldTooLong`. Told once. */
  readonly 'held-too-long': Activity;
  /** Some wait for each other, for good. Told once. */
  readonly deadlock: Deadlock;
}

export type DiagnosticsEvent = keyof DiagnosticsEvents;

type Listener = (message: never) => void;

const names: readonly DiagnosticsEvent[] = [
  'wait',
  'acquire',
  'release',
  'held-too-long',
  'deadlock',
];
const listeners = new Map<DiagnosticsEvent, Set<Listener>>(names.map((name) => [name, new Set()]));
const channels = new Map<DiagnosticsEvent, Channel | undefined>();

function channelOf(event: DiagnosticsEvent): Channel | undefined {
  if (!channels.has(event)) channels.set(event, platform().channel?.(`pointsman:${event}`));
  return channels.get(event);
}

/**
 * Calls `listener` with each event of this name. Returns a function that ends that. What a listener throws is reported as an
 * uncaught error, and does not reach whoever acquires or releases.
 *
 * In Node, Deno, Bun and workerd with `nodejs_compat` the same messages go to `pointsman:wait`, `pointsman:acquire`,
 * `pointsman:release`, `pointsman:held-too-long` and `pointsman:deadlock` of `node:diagnostics_channel`. A deadlock and a hold that takes too long
 * are printed by `console.warn` if nobody listens to them at all.
 *
 * @throws {TypeError} for a name that is none of these, and for a listener that is no function.
 *
 * @example
 * ```ts
 * import { Mutex } from 'pointsman';
 * import { on, watched } from 'pointsman/diagnostics';
 *
 * const off = on('acquire', ({ primitive, operation }) => console.log(primitive, operation)); // ledger tryLock
 * const mutex = watched(new Mutex(), { name: 'ledger' });
 * mutex.tryLock()?.release();
 * off();
 * ```
 */
export function on<Event extends DiagnosticsEvent>(
  event: Event,
  listener: (message: DiagnosticsEvents[Event]) => void,
): () => void {
  const set = listeners.get(event);
  if (set === undefined) throw invalid('event', event, `one of ${names.join(', ')}`);
  if (typeof listener !== 'function') throw invalid('listener', listener, 'a function');
  // So that the same function may listen twice.
  const own: Listener = (message) => listener(message);
  set.add(own);
  return () => void set.delete(own);
}

/** Whether anybody wants to know. */
export const isWanted = (event: DiagnosticsEvent): boolean =>
  (listeners.get(event)?.size ?? 0) > 0 || channelOf(event)?.hasSubscribers === true;

export function emit<Event extends DiagnosticsEvent>(
  event: Event,
  message: DiagnosticsEvents[Event],
): void {
  if (!isWanted(event)) {
    if (event === 'deadlock' || event === 'held-too-long') warn(event, message);
    return;
  }
  const channel = channelOf(event);
  if (channel?.hasSubscribers) channel.publish(message);
  for (const listener of [...(listeners.get(event) ?? [])]) {
    try {
      listener(message as never);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function warn(event: DiagnosticsEvent, message: Deadlock | Activity): void {
  console.warn(event === 'deadlock' ? format(message) : `held too long: ${format(message)}`);
}
