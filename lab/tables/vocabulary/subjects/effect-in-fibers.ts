import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'effect, in fibers',
  role: 'peer',
  package: 'effect',
  note: 'Sender and receiver are fibers, which loop inside Effect.gen: its fast use.',
  load: async () => {
    const [Effect, Queue, Stream] = await Promise.all([
      import('effect/Effect'),
      import('effect/Queue'),
      import('effect/Stream'),
    ]);
    return { Effect, Queue, Stream };
  },
  channelLoops: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    pass: ({ Effect, Queue }, { capacity, senders, receivers, values }, take) => {
      const sender = (queue: import('effect/Queue').Queue<number>, from: number, to: number) =>
        Effect.gen(function* () {
          for (let sent = from; sent < to; sent++) yield* Queue.offer(queue, sent);
        });
      const receiver = (queue: import('effect/Queue').Queue<number>, share: number) =>
        Effect.gen(function* () {
          for (let received = 0; received < share; received++) take(yield* Queue.take(queue));
        });
      const share = values / senders;
      return Effect.runPromise(
        Effect.gen(function* () {
          const queue = yield* Queue.bounded<number>(capacity);
          const all = [
            ...Array.from({ length: senders }, (_, index) =>
              sender(queue, index * share, (index + 1) * share),
            ),
            ...Array.from({ length: receivers }, () => receiver(queue, values / receivers)),
          ];
          yield* Effect.all(all, { concurrency: 'unbounded', discard: true });
        }),
      );
    },
    burst: ({ Effect, Queue }, values, take) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const queue = yield* Queue.unbounded<number>();
          for (let sent = 0; sent < values; sent++) Queue.offerUnsafe(queue, sent);
          for (let received = 0; received < values; received++) take(yield* Queue.take(queue));
        }),
      ),
    iterate: ({ Effect, Queue, Stream }, capacity, values, take) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const queue = yield* Queue.bounded<number, import('effect/Cause').Done>(capacity);
          const sending = Effect.gen(function* () {
            for (let sent = 0; sent < values; sent++) yield* Queue.offer(queue, sent);
            yield* Queue.end(queue);
          });
          const receiving = Stream.runForEach(Stream.fromQueue(queue), (value) =>
            Effect.sync(() => take(value)),
          );
          yield* Effect.all([sending, receiving], { concurrency: 'unbounded', discard: true });
        }),
      ),
  },
});
