import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Node streams',
  role: 'peer',
  note: 'A PassThrough in object mode: write, followed by the drain event if write returns false, and its iterator; and Readable.map.',
  load: async () => {
    const [{ PassThrough, Readable }, { EventEmitter }] = await Promise.all([
      import('node:stream'),
      import('node:events'),
    ]);
    return { PassThrough, Readable, EventEmitter };
  },
  channel: {
    capacities: [1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ PassThrough }, capacity) => {
      const highWaterMark = Number.isFinite(capacity) ? capacity : Number.MAX_SAFE_INTEGER;
      const stream = new PassThrough({ objectMode: true, highWaterMark });
      // Ten senders may wait for space at once.
      stream.setMaxListeners(0);
      return { stream, iterator: stream[Symbol.asyncIterator]() };
    },
    send: async ({ stream }, value, { EventEmitter }) => {
      if (!stream.write(value)) await EventEmitter.once(stream, 'drain');
    },
    push: ({ stream }, value) => stream.write(value),
    receive: ({ iterator }) => iterator.next(),
    value: (received: IteratorResult<number>) => received.value,
    iterate: ({ iterator }) => iterator,
    item: (item: number) => item,
    close: ({ stream }) => stream.end(),
  },
  map: {
    map: ({ Readable }, inputs, mapper, concurrency) =>
      Readable.from(inputs).map(mapper, { concurrency }).toArray(),
  },
});
