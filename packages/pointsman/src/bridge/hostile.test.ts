/**
 * Frames, messages and records with corrupt content. The reader neither hangs nor crashes; corrupt content is an error of
 * its own frame, message or record.
 */
import { describe, expect, test } from 'vitest';
import { Endpoint } from '../transport/endpoint.js';
import { CodecPair } from './codec/model/codec-pair.js';
import { Memory } from './ring/memory.js';
import { CorruptMessageError, Reader } from './ring/reader.js';
import { CONTROL, RingReader, RingWriter } from './ring/ring.js';
import { Writer } from './ring/writer.js';

/** A random number generator with a fixed seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) % below;
  };
}

const samples: readonly (() => unknown)[] = [
  () => [1, 'two', null, undefined, true, 5n, -0.5],
  () => ({ a: 1, b: { c: [1, 2, 3], d: 'text'.repeat(30) } }),
  () => Array.from({ length: 20 }, (_, n) => ({ id: n, name: `name ${n}` })),
  () => new Map<unknown, unknown>([['k', new Set([1, { deep: true }])]]),
  () => Object.assign(new RangeError('an error'), { code: 'E', list: [1] }),
  () => Object.assign([1, 2, 3], { index: 1 }),
  () => [new Uint8Array(100), new Float64Array(3), new Date(5), /a+/g, Object('boxed')],
  () => {
    const cycle: Record<string, unknown> = { list: [] };
    cycle.self = cycle;
    return cycle;
  },
];

test('changed bytes of a value give a value or an error', () => {
  const random = seeded(1);
  for (let round = 0; round < 4_000; round++) {
    const codec = new CodecPair();
    // The first message defines shapes, the second uses them.
    const value = samples[round % samples.length]?.();
    for (let times = 0; times < 2; times++) {
      codec.write(value);
      if (times === 0) codec.read();
    }
    const { u8, start, position } = codec.writer;
    for (let changes = 1 + random(4); changes > 0; changes--) {
      u8[start + random(position - start)] = random(256);
    }
    try {
      codec.read();
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  }
});

test('random bytes give a value or an error', () => {
  const random = seeded(2);
  const bytes = new Memory(new ArrayBuffer(256));
  for (let round = 0; round < 10_000; round++) {
    for (let at = 0; at < 256; at++) bytes.u8[at] = random(4) === 0 ? random(256) : random(40);
    const { decoder, reader } = new CodecPair();
    reader.open(bytes, 0, random(257));
    try {
      decoder.decode(reader);
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  }
});

describe('a changed frame header', () => {
  const capacity = 4096;

  function ring() {
    const memory = new Memory(new ArrayBuffer(CONTROL + capacity));
    const place = { memory, control: 0, data: CONTROL, capacity };
    const writer = new RingWriter(place, () => {});
    const reader = new RingReader(place, () => {});
    const own = new Writer(1 << 20);
    const put = (bytes: number) => {
      writer.begin(own);
      own.reserve(bytes);
      own.position += bytes;
      writer.end(own, 1, 2, 3);
    };
    return { memory, reader, put };
  }

  test.each([
    ['an empty frame, which would be an endless loop', [0, -1]],
    ['more bytes than were published', [1_000, 1]],
    ['a negative length', [-8, 1]],
    ['more bytes than the memory has', [0x7fffffff, 1]],
    ['padding that is not a multiple of 8', [12, -1]],
    ['padding beyond what was published', [4096, -1]],
  ] as const)('%s', (_, [length, kind]) => {
    const { memory, reader, put } = ring();
    put(24);
    memory.i32[CONTROL / 4] = length;
    memory.i32[CONTROL / 4 + 1] = kind;
    expect(() => reader.next(new Reader())).toThrow(CorruptMessageError);
  });

  test('any content gives a frame that lies in the ring, or an error', () => {
    const random = seeded(3);
    for (let round = 0; round < 3_000; round++) {
      const { memory, reader, put } = ring();
      for (let frames = 1 + random(6); frames > 0; frames--) put(random(200));
      for (let changes = 1 + random(3); changes > 0; changes--) {
        const word = random(4) === 0 ? random(2) * 16 : CONTROL / 4 + random(100);
        memory.i32[word] = random(3) === 0 ? random(2 ** 32) | 0 : random(64) - 4;
      }
      const to = new Reader();
      try {
        for (let frames = 0; frames < 600 && reader.next(to); frames++) {
          expect(to.end - to.position).toBeLessThanOrEqual(capacity);
          reader.release();
        }
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptMessageError);
      }
    }
  });
});

describe('records of messages', () => {
  const SEND = 2;

  /** An endpoint whose replies go to a list. */
  function endpoint() {
    const sent: unknown[][] = [];
    const made = new Endpoint({
      functions: [{ name: 'echo', call: (value) => value }],
      post: (records) => void sent.push(records),
      unanswered: (name) => new Error(name),
    });
    return { made, sent };
  }

  test('with corrupt content do not affect other records', async () => {
    const random = seeded(4);
    const values: readonly unknown[] = [
      undefined,
      null,
      -1,
      0,
      1,
      0x40000001,
      1.5,
      Number.NaN,
      'map',
      'constructor',
      [],
      [1, [2]],
      { value: { a: 1 }, placeholders: [{ reference: 4 }, { error: {} }] },
      { value: 1, placeholders: 5 },
      { value: [], placeholders: [null] },
      { placeholders: [{ reference: -1 }, { reference: 'x' }] },
      new Map([[1, 2]]),
    ];
    const any = () => values[random(values.length)];
    for (let round = 0; round < 2_000; round++) {
      const { made, sent } = endpoint();
      const records: unknown[] = [];
      for (let count = random(6); count > 0; count--) {
        const kind = random(24) | (random(2) << 8);
        // The error of a call without a reply is an unhandled rejection.
        records.push((kind & 0xff) === SEND ? 0 : kind, any(), any(), any(), any());
      }
      made.receive(random(10) === 0 ? records.slice(1 + random(4)) : records);
      made.receiveUnreadable(new Error('lost'));
      made.flush();
      sent.length = 0;
      made.receive([1, 77, 0, ['fine'], undefined]);
      made.flush();
      expect(sent).toContainEqual([3, 77, undefined, 'fine', undefined]);
    }
  });

  test.each([undefined, null, 5, 'text', {}])('a message that is not an array: %s', (message) => {
    const { made } = endpoint();
    made.receive(message as never);
    made.receive([message]);
  });
});
