import { stdAsync } from '../std-async.js';
import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@std/async',
  role: 'peer',
  note: 'Published on JSR alone; `make std-async` builds it from its repository.',
  missing: () => stdAsync.missing(),
  load: () => stdAsync.load(),
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ Channel }, capacity) =>
      // It rejects Infinity.
      new Channel({ capacity: Number.isFinite(capacity) ? capacity : Number.MAX_SAFE_INTEGER }),
    send: (channel, value) => channel.send(value),
    push: (channel, value) => channel.trySend(value),
    receive: (channel) => channel.receive(),
    iterate: (channel) => channel,
    close: (channel) => channel.close(),
  },
});
