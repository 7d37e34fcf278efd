import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'pointsman',
  role: 'ours',
  package: 'pointsman',
  load: () => import('pointsman'),
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ Channel }, capacity) => new Channel<number>(capacity),
    send: (channel, value) => channel.send(value),
    push: (channel, value) => channel.trySend(value),
    receive: (channel) => channel.receive(),
    iterate: (channel) => channel,
    item: (value: number) => value,
    close: (channel) => channel.close(),
  },
  broadcast: {
    create: async ({ Broadcast }, capacity) => new Broadcast<number>(capacity),
    subscribe: async (broadcast) => broadcast.subscribe(),
    send: (broadcast, value) => broadcast.send(value),
    receive: (receiver) => receiver.receive(),
  },
  watch: {
    create: async ({ Watch }) => new Watch(0),
    subscribe: async (watch) => watch.subscribe(),
    send: (watch, value) => watch.send(value),
    changed: (receiver) => receiver.changed(),
  },
  rwLock: {
    create: ({ RwLock }) => new RwLock(),
    read: (lock) => lock.read(),
    endRead: (_, permit) => permit.release(),
    write: (lock) => lock.write(),
    endWrite: (_, permit) => permit.release(),
  },
  limiter: {
    rules: ['concurrency', 'rate', 'both'],
    create: ({ Limiter }, { concurrency, rate }) =>
      new Limiter({
        ...(Number.isFinite(concurrency) ? { concurrency } : {}),
        ...(rate ? { rate } : {}),
      }),
    run: (limiter, work) => limiter.run(work),
  },
  keyed: {
    create: ({ Limiter }, concurrency) => new Limiter({ perKey: { concurrency } }),
    run: (limiter, key, work) => limiter.run(work, { key }),
  },
  map: {
    map: ({ Limiter }, inputs, mapper, concurrency) =>
      new Limiter({ concurrency }).map(inputs, mapper).toArray(),
  },
  select: {
    create: ({ Channel, select }, sources) => {
      const channels = Array.from({ length: sources }, () => new Channel<number>(1));
      const cases = Object.fromEntries(
        channels.map((channel, index) => [
          `channel ${index}`,
          (only: { signal: AbortSignal }) => channel.receive(only),
        ]),
      );
      return { channels, first: () => select(cases) };
    },
    feed: ({ channels }, index, value) => channels[index]?.trySend(value),
    first: ({ first }) => first(),
    value: ({ value }) => value,
    left: ({ channels }) => channels.reduce((sum, channel) => sum + channel.waitingReceivers, 0),
  },
});
