/** Events, for listeners of this module and, where it exists, subscribers of Node's `diagnostics_channel`. */

import { invalid } from '../sync/errors.js';
import { type DiagnosticsChannel, platform } from './platform.js';
import type { Activity, Deadlock } from './reports.js';
import { format } from './snapshot.js';

/** The message of each event. */
export interface DiagnosticsEvents {
  /** A call began to wait. */
  readonly wait: Activity;
  /** A call acquired a permit; its `age` is 0. */
  readonly acquire: Activity;
  /** A permit was released; `age` is the time for which it was held. */
  readonly release: Activity;
  /** A permit has been held for longer than `heldTooLong`. Reported once. */
  readonly 'held-too-long': Activity;
  /** Several calls wait for each other and can never continue. Reported once. */
  readonly deadlock: Deadlock;
}

/** The name of an event. */
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
const channels = new Map<DiagnosticsEvent, DiagnosticsChannel | undefined>();

function channelOf(event: DiagnosticsEvent): DiagnosticsChannel | undefined {
  if (!channels.has(event)) channels.set(event, platform().channel?.(`pointsman:${event}`));
  return channels.get(event);
}

/**
 * Calls `listener` with each event of this name. Returns a function that removes the listener. An error that a listener
 * throws is reported as an uncaught error; it does not affect the call that acquires or releases.
 *
 * In Node, Deno, Bun and workerd with `nodejs_compat`, the same messages are published to the channels `pointsman:wait`,
 * `pointsman:acquire`, `pointsman:release`, `pointsman:held-too-long` and `pointsman:deadlock` of
 * `node:diagnostics_channel`. `deadlock` and `held-too-long` are printed with `console.warn` if they have no listener and
 * no subscriber.
 *
 * @throws {TypeError} for an unknown event, or a listener that is not a function.
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
  // A new function, so that the same listener can be added twice.
  const own: Listener = (message) => listener(message);
  set.add(own);
  return () => void set.delete(own);
}

/** Returns whether the event has a listener or a subscriber. */
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
