import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'ts-chan',
  role: 'peer',
  package: 'ts-chan',
  note: 'Its methods yield to the event loop now and then, as its documentation says.',
  load: () => import('ts-chan'),
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ Chan }, capacity) => new Chan<number>(Number.isFinite(capacity) ? capacity : 10_000),
    send: (channel, value) => channel.send(value),
    push: (channel, value) => channel.trySend(value),
    receive: (channel) => channel.recv(),
    value: ({ value }) => value as number,
    iterate: (channel) => channel,
    item: (value: number) => value,
    close: (channel) => channel.close(),
  },
  select: {
    create: ({ Chan, Select, recv }, sources) => {
      const channels = Array.from({ length: sources }, () => new Chan<number>(1));
      return { channels, select: new Select(channels.map((channel) => recv(channel))) };
    },
    feed: ({ channels }, index, value) => channels[index]?.trySend(value),
    first: async ({ select }) => {
      const index = await select.wait();
      const chosen = select.cases[index];
      return chosen === undefined ? undefined : select.recv(chosen).value;
    },
    value: (value) => value as number,
  },
});
