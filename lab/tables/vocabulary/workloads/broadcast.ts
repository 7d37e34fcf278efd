/** One sender and ten receivers: of every value, or of the latest. */
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { BroadcastForm, WatchForm } from '../subject.js';

const receivers = 10;
const capacity = 100;
const bursts = 10;
const changes = 100;

const identity = (value: unknown) => value as number;

/** A hundred values are sent, then each receiver takes them, ten times. Per value received. */
export function broadcast(form: BroadcastForm, library: unknown): Workload {
  const { create, subscribe, send, receive, value = identity } = form;
  let wrong = 0;
  let received = 0;

  async function receiver(subscription: unknown, from: number): Promise<void> {
    for (let index = 0; index < capacity; index++) {
      if (value(await receive(subscription, library)) !== from + index) wrong += 1;
      received += 1;
    }
  }

  async function batch(): Promise<void> {
    wrong = 0;
    received = 0;
    const hub = await create(library, capacity);
    const all: unknown[] = [];
    for (let index = 0; index < receivers; index++) all.push(await subscribe(hub, library));
    for (let burst = 0; burst < bursts; burst++) {
      const from = burst * capacity;
      for (let index = 0; index < capacity; index++) send(hub, from + index, library);
      await Promise.all(all.map((subscription) => receiver(subscription, from)));
    }
    expectCount('values received', received, bursts * capacity * receivers);
    expectCount('wrong values', wrong, 0);
  }

  return { operations: bursts * capacity * receivers, batch };
}

/** All ten wait for a change, and it happens, a hundred times. Per receiver notified. */
export function watched(form: WatchForm, library: unknown): Workload {
  const { create, subscribe, send, changed, value = identity } = form;

  async function batch(): Promise<void> {
    let wrong = 0;
    const hub = await create(library);
    const all: unknown[] = [];
    for (let index = 0; index < receivers; index++) all.push(await subscribe(hub, library));
    for (let change = 1; change <= changes; change++) {
      const waiting = all.map((subscription) => changed(subscription, library));
      send(hub, change, library);
      for (const seen of await Promise.all(waiting)) if (value(seen) !== change) wrong += 1;
    }
    expectCount('wrong values', wrong, 0);
  }

  return { operations: changes * receivers, batch };
}
