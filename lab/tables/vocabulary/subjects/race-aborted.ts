import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Promise.race, the others aborted',
  role: 'peer',
  note: "By hand, on Pointsman's channels: each turn has one AbortController, which is aborted when the first has come. What comes in the same turn of the event loop into two channels is lost for one of them.",
  load: () => import('pointsman'),
  select: {
    create: ({ Channel }, sources) => Array.from({ length: sources }, () => new Channel<number>(1)),
    feed: (channels, index, value) => channels[index]?.trySend(value),
    first: async (channels) => {
      const controller = new AbortController();
      const { signal } = controller;
      const receiving = channels.map((channel) => channel.receive({ signal }));
      // Those that are aborted reject when nobody listens any more.
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
