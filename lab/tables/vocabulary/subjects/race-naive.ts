import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'Promise.race',
  role: 'peer',
  note: "By hand, on Pointsman's channels, and nobody takes the others out of their queues.",
  load: () => import('pointsman'),
  select: {
    create: ({ Channel }, sources) => Array.from({ length: sources }, () => new Channel<number>(1)),
    feed: (channels, index, value) => channels[index]?.trySend(value),
    first: (channels) => Promise.race(channels.map((channel) => channel.receive())),
    value: (value) => value,
    left: (channels) => channels.reduce((sum, channel) => sum + channel.waitingReceivers, 0),
  },
});
