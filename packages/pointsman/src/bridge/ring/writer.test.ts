/** The writer and the reader, with messages in a region and in the writer's own memory. */
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Memory } from './memory.js';
import { CorruptMessageError, Reader } from './reader.js';
import { MessageTooLargeError, Writer } from './writer.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns a reader of the writer's message. */
function readerOf(writer: Writer): Reader {
  const reader = new Reader();
  reader.open(writer.memory, writer.start, writer.position);
  return reader;
}

function writerAt(
  start: number,
  end: number,
  limit = 1 << 24,
  memory = new Memory(new ArrayBuffer(1024)),
) {
  const writer = new Writer(limit);
  writer.open(memory, start, end);
  return writer;
}

describe('the location of a message', () => {
  test('is its region as long as it fits', () => {
    const memory = new Memory(new ArrayBuffer(64));
    memory.u8.fill(0xee);
    const writer = writerAt(16, 32, 100, memory);
    writer.double(1.5);
    writer.i32(-2);
    expect([writer.spilled, writer.start, writer.length]).toEqual([false, 16, 12]);
    writer.i32(3);
    expect(writer.spilled).toBe(false);
    expect(memory.u8.slice(0, 16).every((byte) => byte === 0xee)).toBe(true);
    expect(memory.u8.slice(32).every((byte) => byte === 0xee)).toBe(true);
    writer.byte(4);
    expect([writer.spilled, writer.start, writer.length]).toEqual([true, 0, 17]);
    expect(memory.u8[32]).toBe(0xee);
    const reader = readerOf(writer);
    expect([reader.double(), reader.i32(), reader.i32(), reader.byte()]).toEqual([1.5, -2, 3, 4]);
  });

  test('aligned values stay aligned', () => {
    for (const end of [24, 32, 64, 1024]) {
      const writer = writerAt(24, end);
      for (let index = 0; index < 20; index += 1) {
        writer.byte(index);
        writer.reserve(16);
        writer.align();
        expect((writer.position - writer.start) % 8).toBe(0);
        writer.f64[writer.position >> 3] = index / 2;
        writer.position += 8;
      }
      const reader = readerOf(writer);
      for (let index = 0; index < 20; index += 1) {
        expect(reader.byte()).toBe(index);
        reader.align();
        expect(reader.f64[reader.position >> 3]).toBe(index / 2);
        reader.position += 8;
      }
    }
  });

  test('the views always match the memory', () => {
    const writer = writerAt(0, 8);
    for (let index = 0; index < 2000; index += 1) {
      writer.double(index);
      const { memory, u8, f64, view } = writer;
      expect(u8 === memory.u8 && f64 === memory.f64 && view === memory.view).toBe(true);
    }
    const reader = readerOf(writer);
    for (let index = 0; index < 2000; index += 1) expect(reader.double()).toBe(index);
  });

  test('own memory is reused unless it is large or transferred', () => {
    const memory = new Memory(new ArrayBuffer(8));
    const writer = new Writer(1 << 24);
    const spill = (bytes: number) => {
      writer.open(memory, 0, 8);
      expect(writer.spilled).toBe(false);
      writer.bytes(new Uint8Array(bytes).fill(bytes));
      expect(writer.spilled).toBe(true);
      const arrived = readerOf(writer).bytes();
      expect([arrived.length, arrived.every((byte) => byte === (bytes & 255))]).toEqual([
        bytes,
        true,
      ]);
      return writer.memory;
    };
    const first = spill(100);
    expect(spill(50) === first).toBe(true);
    const second = spill(100_000);
    expect(spill(10) === second).toBe(true);
    const large = spill(2_000_000);
    expect(spill(10) === large).toBe(false);
    const given = spill(1000);
    structuredClone(given.buffer, { transfer: [given.buffer as ArrayBuffer] });
    expect(spill(1000) === given).toBe(false);
  });

  test('a message above the limit is rejected, inside and outside the region', () => {
    for (const end of [1024, 8]) {
      const writer = writerAt(0, end, 100);
      // One byte for the length, and seven for the alignment.
      writer.bytes(new Uint8Array(92));
      expect(writer.length).toBe(100);
      expect(() => writer.reserve(1)).toThrow(MessageTooLargeError);
      expect(() => writer.byte(1)).toThrow('the message has more than 100 bytes');
      expect(() => writer.byte(1)).toThrow(RangeError);
      writer.open(new Memory(new ArrayBuffer(8)), 0, 8);
      writer.bytes(new Uint8Array(50));
      expect(readerOf(writer).bytes().length).toBe(50);
    }
  });
});

describe('numbers', () => {
  test('integers up to 32 bits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 2 ** 32 - 1 }))),
        (numbers) => {
          const writer = writerAt(8, 64);
          for (const number of numbers) writer.varint(number);
          const reader = readerOf(writer);
          expect(numbers.map(() => reader.varint())).toEqual(numbers);
          expect(reader.position).toBe(writer.position);
        },
      ),
    );
  });
});

/** The runtimes that differ in their text functions. */
const runtimes: [string, (shared: boolean) => Memory][] = [
  ['this runtime', (shared) => new Memory(bufferOf(shared))],
  [
    'a runtime without Buffer',
    (shared) => {
      const globals = globalThis as { Buffer?: unknown };
      const { Buffer } = globals;
      globals.Buffer = undefined;
      try {
        return new Memory(bufferOf(shared));
      } finally {
        if (Buffer === undefined) delete globals.Buffer;
        else globals.Buffer = Buffer;
      }
    },
  ],
  [
    'a runtime that rejects views of shared memory',
    (shared) => {
      refuseShared(TextEncoder.prototype, 'encodeInto', 1);
      refuseShared(TextDecoder.prototype, 'decode', 0);
      return runtimes[1]?.[1](shared) as Memory;
    },
  ],
];

/** Makes a function reject views of shared memory, as browsers do. */
function refuseShared<Name extends string>(
  owner: Record<Name, (...all: never[]) => unknown>,
  name: Name,
  place: number,
): void {
  const original = owner[name] as (...all: unknown[]) => unknown;
  vi.spyOn(owner as Record<string, (...all: unknown[]) => unknown>, name).mockImplementation(
    function (this: unknown, ...all) {
      const { buffer } = all[place] as Uint8Array;
      if (!(buffer instanceof ArrayBuffer)) throw new TypeError('must not be shared');
      return original.apply(this, all);
    },
  );
}

function bufferOf(shared: boolean): ArrayBufferLike {
  return new (shared ? (globalThis.SharedArrayBuffer ?? ArrayBuffer) : ArrayBuffer)(4096);
}

describe.for(runtimes)('texts in %s', ([, memoryFor]) => {
  const units = fc.oneof(
    fc.array(fc.nat(127), { maxLength: 100 }),
    fc.array(fc.nat(255), { maxLength: 100 }),
    fc.array(fc.nat(0xffff), { maxLength: 100 }),
    fc.array(fc.integer({ min: 0xd7f0, max: 0xe00f }), { maxLength: 100 }),
    fc
      .string({ unit: 'binary', maxLength: 100 })
      .map((text) => [...text].flatMap((each) => [...each].map((c) => c.charCodeAt(0)))),
  );

  test.for([true, false])('arrive unchanged, in shared memory: %o', (shared) => {
    const memory = memoryFor(shared);
    const writer = new Writer(1 << 24);
    const texts = fc
      .tuple(units, fc.constantFrom(1, 2, 50))
      .map(([codes, times]) => String.fromCharCode(...codes).repeat(times));
    fc.assert(
      fc.property(
        fc.array(texts, { maxLength: 5 }),
        fc.constantFrom(8, 16, 64, 300, 4096),
        (list, end) => {
          writer.open(memory, 8, end);
          for (const text of list) writer.string(text);
          const reader = readerOf(writer);
          for (const text of list) expect(reader.string() === text).toBe(true);
          expect(reader.position).toBe(writer.position);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('arrive unchanged if they are long', () => {
    const memory = memoryFor(true);
    const writer = new Writer(1 << 24);
    for (const piece of ['a', 'ü', '€', '😀', 'a\ud800', 'mixed ü€😀', '\ufeff€']) {
      const text = piece.repeat(100_000);
      writer.open(memory, 0, 4096);
      writer.string(text);
      expect(readerOf(writer).string() === text).toBe(true);
    }
  });
});

describe('Memory.encodable', () => {
  test('is true for memory that is not shared', () => {
    expect(new Memory(new ArrayBuffer(8)).encodable).toBe(true);
  });

  test('is true for shared memory only if TextEncoder and TextDecoder accept it', () => {
    if (typeof SharedArrayBuffer === 'undefined') return;
    refuseShared(TextDecoder.prototype, 'decode', 0);
    expect(new Memory(new SharedArrayBuffer(8)).encodable).toBe(false);
    vi.restoreAllMocks();
    refuseShared(TextEncoder.prototype, 'encodeInto', 1);
    expect(new Memory(new SharedArrayBuffer(8)).encodable).toBe(false);
  });
});

describe('a truncated message', () => {
  test('is rejected', () => {
    const writer = writerAt(0, 1024);
    const empty = () => {
      const reader = new Reader();
      reader.open(writer.memory, 0, 0);
      return reader;
    };
    expect(() => empty().byte()).toThrow(CorruptMessageError);
    expect(() => empty().i32()).toThrow(CorruptMessageError);
    expect(() => empty().double()).toThrow(CorruptMessageError);
    expect(() => empty().string()).toThrow(CorruptMessageError);
    expect(() => empty().bytes()).toThrow(CorruptMessageError);
    for (const text of ['short', 'x'.repeat(100), '€'.repeat(10), '€'.repeat(100)]) {
      writer.open(writer.memory, 0, 1024);
      writer.string(text);
      for (let end = 0; end < writer.position; end += 1) {
        const reader = new Reader();
        reader.open(writer.memory, 0, end);
        expect(() => reader.string()).toThrow(CorruptMessageError);
      }
    }
  });
});
