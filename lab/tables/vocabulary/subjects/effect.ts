import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'effect',
  role: 'peer',
  package: 'effect',
  note: 'Each call is one Effect.runPromise, as code outside an effect makes it.',
  load: async () => {
    const [Effect, Queue, PubSub, Scope, Lock] = await Promise.all([
      import('effect/Effect'),
      import('effect/Queue'),
      import('effect/PubSub'),
      import('effect/Scope'),
      import('effect/TxReentrantLock'),
    ]);
    return { Effect, Queue, PubSub, Scope, Lock };
  },
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ Effect, Queue }, capacity) =>
      Effect.runSync(
        Number.isFinite(capacity) ? Queue.bounded<number>(capacity) : Queue.unbounded<number>(),
      ),
    send: (queue, value, { Effect, Queue }) => Effect.runPromise(Queue.offer(queue, value)),
    push: (queue, value, { Queue }) => Queue.offerUnsafe(queue, value),
    receive: (queue, { Effect, Queue }) => Effect.runPromise(Queue.take(queue)),
  },
  broadcast: {
    create: ({ Effect, PubSub }, capacity) => Effect.runPromise(PubSub.bounded<number>(capacity)),
    subscribe: (hub, { Effect, PubSub, Scope }) =>
      Effect.runPromise(Scope.provide(PubSub.subscribe(hub), Scope.makeUnsafe())),
    send: (hub, value, { PubSub }) => PubSub.publishUnsafe(hub, value),
    receive: (receiver, { Effect, PubSub }) => Effect.runPromise(PubSub.take(receiver)),
  },
  rwLockRun: {
    create: ({ Effect, Lock }) => Effect.runSync(Lock.make()),
    runRead: (lock, work: Work, { Effect, Lock }) =>
      Effect.runPromise(Lock.withReadLock(lock, Effect.promise(work))),
    runWrite: (lock, work: Work, { Effect, Lock }) =>
      Effect.runPromise(Lock.withWriteLock(lock, Effect.promise(work))),
  },
  map: {
    map: ({ Effect }, inputs, mapper, concurrency) =>
      Effect.runPromise(
        Effect.forEach(inputs, (input) => Effect.promise(() => mapper(input)), { concurrency }),
      ),
  },
  select: {
    create: ({ Effect, Queue }, sources) =>
      Array.from({ length: sources }, () => Effect.runSync(Queue.unbounded<number>())),
    feed: (queues, index, value, { Queue }) =>
      Queue.offerUnsafe(queues[index] as NonNullable<(typeof queues)[number]>, value),
    first: (queues, { Effect, Queue }) =>
      Effect.runPromise(Effect.raceAllFirst(queues.map((queue) => Queue.take(queue)))),
  },
});
