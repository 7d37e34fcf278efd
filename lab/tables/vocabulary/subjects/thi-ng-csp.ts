import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@thi.ng/csp',
  role: 'peer',
  package: '@thi.ng/csp',
  note: 'Its buffer holds at least one value; for a burst it holds all.',
  load: () => import('@thi.ng/csp'),
  channel: {
    capacities: [1, 10, 100, Number.POSITIVE_INFINITY],
    create: ({ channel }, capacity) =>
      channel<number>(Number.isFinite(capacity) ? capacity : 10_000),
    send: (channel, value) => channel.write(value),
    push: (channel, value) => channel.offer(value),
    receive: (channel) => channel.read(),
    value: (value) => value as number,
    iterate: (channel) => channel,
    item: (value: number) => value,
    close: (channel) => channel.close(),
  },
  select: {
    create: ({ channel }, sources) => Array.from({ length: sources }, () => channel<number>(1)),
    feed: (channels, index, value) => channels[index]?.offer(value),
    first: ([channel, ...others], { select }) =>
      select(channel as NonNullable<typeof channel>, ...others),
    value: ([value]) => value as number,
    left: (channels) =>
      channels.reduce((sum, { races, reads }) => sum + races.length + reads.length, 0),
  },
});
