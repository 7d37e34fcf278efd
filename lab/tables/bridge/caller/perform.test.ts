import { describe, expect, it } from 'vitest';
import { bytesOf, expectedRect, parcel, rectWithoutPage, textOf } from '../host/functions.js';
import { type Ground, Session } from '../host/session.js';
import type { BridgeSubject, Caller } from '../subject.js';
import { payloadNames, type Work } from '../work.js';
import type { Order } from './order.js';
import { averageTime, margin, perform, timedCalls } from './perform.js';

function orderOf(work: Work): Order {
  return { work, milliseconds: 1 };
}

const right: Caller = {
  blocking: {
    rect: rectWithoutPage,
    bytes: (length) => bytesOf(length).slice(),
    text: textOf,
    record: () => structuredClone(parcel),
    format: (text) => text,
  },
  awaited: { rect: async () => rectWithoutPage() },
  rectOfAsync: rectWithoutPage,
  batch: (calls) => Array.from({ length: calls }, rectWithoutPage),
};

const throughputs: Work[] = [
  'call',
  'awaited',
  'async function',
  'in flight',
  'batch of 8',
  'source text',
  ...payloadNames,
];

describe('an order', () => {
  it.each(throughputs)('%s yields a number of calls per second', async (work) => {
    const { samples, calls } = await perform(orderOf(work), right, false);
    expect(samples[work]).toBeGreaterThan(0);
    expect(calls).toBeGreaterThan(0);
  });

  it('yields the columns of the document', async () => {
    const { samples } = await perform(orderOf('call'), right, false);
    expect(samples[averageTime]).toBeCloseTo(1e9 / (samples.call ?? 0));
    expect(samples[margin]).toBeGreaterThan(0);
    expect(samples[timedCalls]).toBeGreaterThan(0);
  });

  it('lets a subject that spins rest before and after', async () => {
    const seen: string[] = [];
    const caller: Caller = {
      blocking: {
        rect() {
          if (seen.at(-1) !== 'call') seen.push('call');
          return rectWithoutPage();
        },
      },
      resume: () => seen.push('resume'),
      rest: () => seen.push('rest'),
    };
    await perform(orderOf('call'), caller, false);
    expect(seen).toEqual(['resume', 'call', 'rest']);
  });

  it('counts the calls of a batch and those in flight one by one', async () => {
    let answered = 0;
    const count = () => {
      answered += 1;
      return rectWithoutPage();
    };
    const caller: Caller = {
      awaited: { rect: async () => count() },
      batch: (calls) => Array.from({ length: calls }, count),
    };
    for (const work of ['in flight', 'batch of 8', 'single'] as const) {
      answered = 0;
      const { calls } = await perform(orderOf(work), caller, false);
      expect(calls).toBe(answered);
    }
  });

  it('fails at the first wrong number', async () => {
    const wrong: Caller = { blocking: { rect: () => ({ ...expectedRect, bottom: 216 }) } };
    await expect(perform(orderOf('call'), wrong, false)).rejects.toThrow('"bottom":216');
  });

  it('accepts whole numbers only from a subject that declares them', async () => {
    const cut = Object.fromEntries(
      Object.entries(expectedRect).map(([name, value]) => [name, Math.trunc(value)]),
    );
    const caller: Caller = { blocking: { rect: () => cut as unknown as typeof expectedRect } };
    await expect(perform(orderOf('call'), caller, false)).rejects.toThrow('answered');
    await expect(perform(orderOf('call'), caller, true)).resolves.toBeDefined();
  });

  it('fails at bytes, text and objects that differ from those sent', async () => {
    const wrong: Caller = {
      blocking: {
        bytes: (length) => bytesOf(length).slice().fill(0, 3, 4),
        text: (length) => textOf(length).slice(1),
        record: () => ({ ...parcel, items: parcel.items.slice(1) }),
        format: (text) => text.slice(1),
      },
    };
    for (const payload of [...payloadNames, 'source text'] as const) {
      await expect(perform(orderOf(payload), wrong, false)).rejects.toThrow(payload);
    }
  });

  it('fails at a batch with fewer answers than calls', async () => {
    const short: Caller = { batch: () => [rectWithoutPage()], blocking: right.blocking ?? {} };
    await expect(perform(orderOf('batch of 8'), short, false)).rejects.toThrow('1 of 8');
  });
});

describe('a session', () => {
  it('rejects a subject that invents answers', async () => {
    const subject: BridgeSubject = {
      name: 'from memory',
      role: 'peer',
      platforms: ['Node'],
      does: ['call'],
      serve: async ({ functions }) => {
        const remembered = functions.rect();
        return { blocking: { rect: () => remembered } };
      },
    };
    const ground: Ground = {
      platform: 'Node',
      rect: rectWithoutPage,
      startWorker: () => {
        throw new Error('needs no worker');
      },
    };
    const session = await Session.open(subject, ground);
    await expect(session.run(orderOf('call'))).rejects.toThrow(/of which 0 were answered/);
    session.close();
  });
});
