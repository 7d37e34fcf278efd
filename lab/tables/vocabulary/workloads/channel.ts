/**
 * Values passed through a channel, one at a time: the sender awaits each send and the receiver each receive.
 * Invariant: with one receiver they arrive in order, with several each arrives once.
 */
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { ChannelForm, ChannelLoops, Take } from '../subject.js';

const values = 2_000;
const inBurst = 10_000;

export type AnyChannel =
  | { readonly calls: ChannelForm; readonly loops?: undefined }
  | { readonly loops: ChannelLoops; readonly calls?: undefined };

type Have<Form, Key extends keyof Form> = Form & Required<Pick<Form, Key>>;

/** Checks that every value arrives once: in order, or with the right sum. */
function tally(expected: number, inOrder: boolean) {
  let taken = 0;
  let sum = 0;
  let disordered = 0;
  return {
    take: ((value) => {
      if (inOrder && value !== taken) disordered += 1;
      taken += 1;
      sum += value;
    }) satisfies Take,
    check() {
      expectCount('values received', taken, expected);
      expectCount('values out of order', disordered, 0);
      expectCount('sum of the values', sum, (expected * (expected - 1)) / 2);
      taken = 0;
      sum = 0;
    },
  };
}

const identity = (value: unknown) => value as number;

export function passed(capacity: number, senders: number, receivers: number) {
  return ({ calls, loops }: AnyChannel, library: unknown): Workload => {
    const { take, check } = tally(values, receivers === 1);
    const pass = loops
      ? (loops as Have<ChannelLoops, 'pass'>).pass
      : byCalls(calls as Have<ChannelForm, 'send' | 'receive'>);

    async function batch(): Promise<void> {
      await pass(library, { capacity, senders, receivers, values }, take);
      check();
    }
    return { operations: values, batch };
  };
}

function byCalls(form: Have<ChannelForm, 'send' | 'receive'>): NonNullable<ChannelLoops['pass']> {
  const { create, send, receive, value = identity } = form;

  async function sender(library: unknown, channel: unknown, from: number, to: number) {
    for (let sent = from; sent < to; sent++) await send(channel, sent, library);
  }

  async function receiver(library: unknown, channel: unknown, share: number, take: Take) {
    for (let received = 0; received < share; received++) {
      take(value(await receive(channel, library)));
    }
  }

  return async (library, { capacity, senders, receivers, values }, take) => {
    const channel = create(library, capacity);
    const all: Promise<void>[] = [];
    const share = values / senders;
    for (let index = 0; index < senders; index++) {
      all.push(sender(library, channel, index * share, (index + 1) * share));
    }
    for (let index = 0; index < receivers; index++) {
      all.push(receiver(library, channel, values / receivers, take));
    }
    await Promise.all(all);
  };
}

/** All values are sent before the first is received. */
export function burst({ calls, loops }: AnyChannel, library: unknown): Workload {
  const { take, check } = tally(inBurst, true);
  if (loops?.burst) {
    const { burst } = loops as Have<ChannelLoops, 'burst'>;
    return {
      operations: inBurst,
      batch: async () => {
        await burst(library, inBurst, take);
        check();
      },
    };
  }
  const {
    create,
    push,
    receive,
    value = identity,
  } = calls as Have<ChannelForm, 'push' | 'receive'>;

  async function batch(): Promise<void> {
    const channel = create(library, Number.POSITIVE_INFINITY);
    for (let sent = 0; sent < inBurst; sent++) push(channel, sent, library);
    for (let received = 0; received < inBurst; received++) {
      take(value(await receive(channel, library)));
    }
    check();
  }

  return { operations: inBurst, batch };
}

/** One sender that waits for space and closes, and `for await`. */
export function iterated(capacity: number) {
  return ({ calls, loops }: AnyChannel, library: unknown): Workload => {
    const { take, check } = tally(values, true);
    const iterate = loops
      ? (loops as Have<ChannelLoops, 'iterate'>).iterate
      : iteratingCalls(calls as Have<ChannelForm, 'send' | 'iterate' | 'close'>);

    async function batch(): Promise<void> {
      await iterate(library, capacity, values, take);
      check();
    }
    return { operations: values, batch };
  };
}

function iteratingCalls(
  form: Have<ChannelForm, 'send' | 'iterate' | 'close'>,
): NonNullable<ChannelLoops['iterate']> {
  const { create, send, iterate, item = identity, close } = form;

  async function sender(library: unknown, channel: unknown, values: number) {
    for (let sent = 0; sent < values; sent++) await send(channel, sent, library);
    await close(channel, library);
  }

  return async (library, capacity, values, take) => {
    const channel = create(library, capacity);
    const sending = sender(library, channel, values);
    for await (const received of iterate(channel, library)) take(item(received));
    await sending;
  };
}
