/** The ring in one thread: frames of any size, with any delay of the reader and any value of the counters. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Memory } from './memory.js';
import { Reader } from './reader.js';
import { CONTROL, RingReader, RingWriter } from './ring.js';
import { Writer } from './writer.js';

interface Frame {
  readonly bytes: Uint8Array;
  readonly kind: number;
  readonly first: number;
  readonly second: number;
}

/** Creates both ends of a ring with both counters at `from`. */
function ringOf(capacity: number, from = 0) {
  // Not shared, because no thread sleeps here and some pages have no shared memory.
  const memory = new Memory(new ArrayBuffer(CONTROL + capacity));
  memory.i32[0] = from;
  memory.i32[16] = from;
  const place = { memory, control: 0, data: CONTROL, capacity };
  const ring = { writer: new RingWriter(place, () => {}), reader: new RingReader(place, () => {}) };
  const own = new Writer(1 << 26);
  const to = new Reader();
  return {
    ...ring,
    put({ bytes, kind, first, second }: Frame): void {
      ring.writer.begin(own);
      own.reserve(bytes.length);
      own.u8.set(bytes, own.position);
      own.position += bytes.length;
      ring.writer.end(own, kind, first, second);
    },
    /** Reads and releases the next frame. */
    take(): Frame | undefined {
      if (!ring.reader.next(to)) return undefined;
      const { kind, first, second } = ring.reader;
      const bytes = to.u8.slice(to.position, to.end);
      ring.reader.release();
      return { bytes, kind, first, second };
    },
  };
}

function frameOf(size: number, number: number): Frame {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = number * 131 + at * 7;
  return { bytes, kind: 1 + (number & 0xffff), first: number, second: ~number };
}

/** Compares without assertions: one per byte of a large frame would take seconds. */
function isSame(found: Frame | undefined, frame: Frame): boolean {
  return (
    found?.kind === frame.kind &&
    found.first === frame.first &&
    found.second === frame.second &&
    found.bytes.length === frame.bytes.length &&
    found.bytes.every((byte, at) => byte === frame.bytes[at])
  );
}

const anyFrom = fc.constantFrom(0, 4096, 2 ** 31 - 4096, -(2 ** 31), -4096, -8192);

/** Ordinary sizes, and sizes around the limits of the ring. */
const anySize = (capacity: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.nat(200) },
    { weight: 2, arbitrary: fc.nat(capacity) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(1 / 8, 1 / 4, 1 / 2, 1), fc.integer({ min: -24, max: 8 }))
        .map(([part, more]) => capacity * part + more),
    },
    { weight: 1, arbitrary: fc.nat(5 * capacity) },
  );

test('every frame is read once, in order and complete', () => {
  const anyPlan = fc.constantFrom(4096, 8192, 65536).chain((capacity) =>
    fc.record({
      capacity: fc.constant(capacity),
      from: anyFrom,
      // A size to write, or a number of frames to read.
      steps: fc.array(
        fc.oneof(
          anySize(capacity).map((size) => ({ size })),
          fc.nat(4).map((count) => ({ count })),
        ),
        { maxLength: 60 },
      ),
    }),
  );
  fc.assert(
    fc.property(anyPlan, ({ capacity, from, steps }) => {
      const { put, take, writer } = ringOf(capacity, from);
      let written = 0;
      let read = 0;
      const sizes: number[] = [];
      const readOne = () => {
        const found = take();
        if (found === undefined) return false;
        if (!isSame(found, frameOf(sizes[read] as number, read))) {
          throw new Error(`frame ${read} has changed`);
        }
        read++;
        writer.flush();
        return true;
      };
      for (const step of steps) {
        if ('size' in step) {
          sizes.push(step.size);
          put(frameOf(step.size, written++));
        } else {
          for (let i = 0; i < step.count; i++) readOne();
        }
      }
      // Reading a part frees space without returning a frame, so there may be more to flush.
      for (let idle = 0; idle < 2; ) {
        const before = writer.consumed;
        if (readOne()) continue;
        writer.flush();
        if (writer.consumed === before) idle++;
      }
      expect([read, writer.queued]).toEqual([written, 0]);
    }),
    { numRuns: 200 },
  );
});

describe('counters', () => {
  test.each([2 ** 31 - 4096, -4096])('wrap past %i', (from) => {
    const { put, take, writer } = ringOf(4096, from);
    for (let i = 0; i < 200; i++) {
      const frame = frameOf((i * 37) % 500, i);
      put(frame);
      expect(take()).toEqual(frame);
    }
    expect(Math.sign(writer.consumed)).toBe(-Math.sign(from));
  });

  test.each([2 ** 31 - 4096, -4096])(
    'are compared correctly after they wrapped past %i',
    (from) => {
      const { put, take, writer, reader } = ringOf(4096, from);
      const frames = Array.from({ length: 30 }, (_, i) => frameOf(300, i));
      for (const frame of frames) put(frame);
      expect(writer.queued).toBeGreaterThan(0);
      for (const frame of frames) {
        if (!reader.ready) writer.flush();
        const found = take();
        expect(found).toEqual(frame);
      }
    },
  );
});

test('a frame without space waits, and later frames wait behind it', () => {
  const { put, take, writer, reader } = ringOf(4096);
  for (let i = 0; i < 6; i++) put(frameOf(i < 2 ? 2000 : 0, i));
  put(frameOf(4000, 6));
  put(frameOf(8, 7));
  expect(writer.queued).toBeGreaterThan(0);
  expect(writer.flush()).toBe(false);
  for (let i = 0; i < 8; i++) {
    if (!reader.ready) writer.flush();
    const found = take();
    expect(found).toEqual(frameOf([2000, 2000, 0, 0, 0, 0, 4000, 8][i] as number, i));
  }
  expect([writer.flush(), writer.queued]).toEqual([true, 0]);
});

test('a frame that was not ended does not exist', () => {
  const { writer, put, take } = ringOf(4096);
  const lost = new Writer(1 << 20);
  writer.begin(lost);
  lost.reserve(100);
  lost.u8.fill(0xff, lost.position, lost.position + 100);
  expect(take()).toBeUndefined();
  put(frameOf(10, 1));
  expect(take()).toEqual(frameOf(10, 1));
  expect(take()).toBeUndefined();
});

test('small frames stay at the beginning of a large ring', () => {
  const capacity = 1 << 20;
  const memory = new Memory(new ArrayBuffer(CONTROL + capacity));
  const place = { memory, control: 0, data: CONTROL, capacity };
  const writer = new RingWriter(place, () => {});
  const reader = new RingReader(place, () => {});
  const [from, to] = [new Writer(1 << 20), new Reader()];
  for (let i = 0; i < 10_000; i++) {
    writer.begin(from);
    from.double(i);
    writer.end(from, 1, 0, 0);
    expect(reader.next(to)).toBe(true);
    reader.release();
  }
  expect(memory.u8.findLastIndex((byte) => byte !== 0)).toBeLessThan(40_000);
});

test('a frame can be read after a large reassembled one', () => {
  const { put, take, writer } = ringOf(65536);
  const large = frameOf(6_000_000, 1);
  put(large);
  let found = take();
  while (found === undefined) {
    writer.flush();
    found = take();
  }
  expect(isSame(found, large)).toBe(true);
  put(frameOf(5, 2));
  expect(take()).toEqual(frameOf(5, 2));
});

test('stop discards frames that wait for space', () => {
  const { put, take, writer } = ringOf(4096);
  put(frameOf(3000, 0));
  put(frameOf(3000, 1));
  put(frameOf(3000, 2));
  writer.stop();
  expect([writer.queued, writer.flush()]).toEqual([0, true]);
  expect(take()).toEqual(frameOf(3000, 0));
});
