import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'it-pushable',
  role: 'peer',
  package: 'it-pushable',
  note: 'Unbounded.',
  load: () => import('it-pushable'),
  channel: {
    capacities: [Number.POSITIVE_INFINITY],
    create: ({ pushable }) => pushable<number>({ objectMode: true }),
    push: (channel, value) => channel.push(value),
    receive: (channel) => channel.next(),
    value: ({ value }) => value as number,
    iterate: (channel) => channel,
    item: (value: number) => value,
    close: (channel) => channel.end(),
  },
});
