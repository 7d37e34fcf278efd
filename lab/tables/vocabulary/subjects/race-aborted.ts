import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Promise.race, the others aborted',
  role: 'peer',
  note: "Hand-written, on Pointsman's channels: each turn has one AbortController, which aborts the others after the first value. If two channels get values in the same turn of the event loop, one value is lost.",
  load: () => import('pointsman'),
  select: {
    create: ({ Channel }, sources) => Array.from({ length: sources }, () => new Channel<number>(1)),
    feed: (channels, index, value) => channels[index]?.trySend(value),
    first: async (channels) => {
      const controller = new AbortController();
      const { signal } = controller;
      const receiving = channels.map((channel) => channel.receive({ signal }));
      // The aborted ones reject later, without a handler.
      for (const promise of receiving) promise.catch(() => {});
      try {
        return await Promise.race(receiving);
      } finally {
        controller.abort();
      }
    },
    value: (value) => value,
    left: (channels) => channels.reduce((sum, channel) => sum + channel.waitingReceivers, 0),
  },
});
