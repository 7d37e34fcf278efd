import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Promise.race',
  role: 'peer',
  note: "Hand-written, on Pointsman's channels; the other waiters stay in their queues.",
  load: () => import('pointsman'),
  select: {
    create: ({ Channel }, sources) => Array.from({ length: sources }, () => new Channel<number>(1)),
    feed: (channels, index, value) => channels[index]?.trySend(value),
    first: (channels) => Promise.race(channels.map((channel) => channel.receive())),
    value: (value) => value,
    left: (channels) => channels.reduce((sum, channel) => sum + channel.waitingReceivers, 0),
  },
});
