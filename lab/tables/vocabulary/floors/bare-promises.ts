import { defineSubject } from '../subject.js';

/** Values without a taker, and takers without a value. */
interface Line {
  readonly values: number[];
  readonly takers: ((value: number) => void)[];
  nextValue: number;
  nextTaker: number;
}

const resolved = Promise.resolve();
const line = (): Line => ({ values: [], takers: [], nextValue: 0, nextTaker: 0 });

function put(line: Line, value: number): Promise<void> {
  const taker = line.takers[line.nextTaker];
  if (taker === undefined) line.values.push(value);
  else {
    line.nextTaker += 1;
    taker(value);
  }
  return resolved;
}

function take(line: Line): Promise<number> {
  const value = line.values[line.nextValue];
  if (value === undefined) return new Promise((resolve) => line.takers.push(resolve));
  line.nextValue += 1;
  return Promise.resolve(value);
}

export default defineSubject({
  name: 'bare promises',
  role: 'floor',
  note: 'A native promise for each value, permit or call, and arrays: nothing is bounded, excluded, cancelled or closed.',
  load: async () => undefined,
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: line,
    send: put,
    push: put,
    receive: take,
  },
  broadcast: {
    create: async () => [] as Line[],
    subscribe: async (hub) => {
      const receiver = line();
      hub.push(receiver);
      return receiver;
    },
    send: (hub, value) => {
      for (const receiver of hub) put(receiver, value);
    },
    receive: take,
  },
  watch: {
    create: async () => [] as Line[],
    subscribe: async (hub) => {
      const receiver = line();
      hub.push(receiver);
      return receiver;
    },
    send: (hub, value) => {
      for (const receiver of hub) put(receiver, value);
    },
    changed: take,
  },
  rwLock: {
    lacksExclusion: true,
    create: () => undefined,
    read: () => resolved,
    endRead: () => {},
    write: () => resolved,
    endWrite: () => {},
  },
  limiter: {
    limitsNothing: true,
    rules: ['concurrency', 'rate', 'both'],
    create: () => undefined,
    run: (_, work) => work(),
  },
  keyed: {
    limitsNothing: true,
    create: () => undefined,
    run: (_, __, work) => work(),
  },
  map: {
    limitsNothing: true,
    map: (_, inputs, mapper) => Promise.all(inputs.map(mapper)),
  },
  select: {
    // One queue for all sources.
    create: line,
    feed: (line, _, value) => put(line, value),
    first: take,
  },
});
