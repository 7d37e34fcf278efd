/**
 * Readers and writers of one lock. Each holder counts itself: a lock that admits a writer together with another holder
 * fails the row, and so does one that admits readers one by one.
 */
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { RwLockForm, RwLockRunForm } from '../subject.js';

const alone = 1_000;
const tasks = 100;
const turns = 20;
const writeEvery = 10;
const resolved = Promise.resolve();

export type AnyRwLock =
  | { readonly permits: RwLockForm; readonly run?: undefined }
  | { readonly run: RwLockRunForm; readonly permits?: undefined };

/** The current holders, and violations of exclusion. */
class Room {
  #readers = 0;
  #writers = 0;
  #mostReaders = 0;
  #intrusions = 0;
  turns = 0;

  /** Over one `await`. */
  readonly read = async (): Promise<void> => {
    this.beginRead();
    await resolved;
    this.endRead();
  };

  readonly write = async (): Promise<void> => {
    this.beginWrite();
    await resolved;
    this.endWrite();
  };

  beginRead(): void {
    this.#readers += 1;
    if (this.#readers > this.#mostReaders) this.#mostReaders = this.#readers;
    if (this.#writers > 0) this.#intrusions += 1;
  }

  endRead(): void {
    this.#readers -= 1;
    this.turns += 1;
  }

  beginWrite(): void {
    this.#writers += 1;
    if (this.#writers > 1 || this.#readers > 0) this.#intrusions += 1;
  }

  endWrite(): void {
    this.#writers -= 1;
    this.turns += 1;
  }

  check({ turns, readersShare }: { turns: number; readersShare: boolean }): void {
    expectCount('turns taken', this.turns, turns);
    expectCount('overlaps with a writer', this.#intrusions, 0);
    if (readersShare && this.#mostReaders < 2) throw new Error('admitted readers one by one');
  }
}

export function aloneReading({ permits, run }: AnyRwLock, library: unknown): Workload {
  const lock = (permits ?? run).create(library);

  async function batch(): Promise<void> {
    const room = new Room();
    for (let turn = 0; turn < alone; turn++) {
      if (permits) {
        const permit = await permits.read(lock);
        room.turns += 1;
        permits.endRead(lock, permit);
      } else {
        await run.runRead(
          lock,
          async () => {
            room.turns += 1;
          },
          library,
        );
      }
    }
    room.check({ turns: alone, readersShare: false });
  }
  return { operations: alone, batch };
}

export function aloneWriting({ permits, run }: AnyRwLock, library: unknown): Workload {
  const lock = (permits ?? run).create(library);

  async function batch(): Promise<void> {
    const room = new Room();
    for (let turn = 0; turn < alone; turn++) {
      if (permits) {
        const permit = await permits.write(lock);
        room.turns += 1;
        permits.endWrite(lock, permit);
      } else {
        await run.runWrite(
          lock,
          async () => {
            room.turns += 1;
          },
          library,
        );
      }
    }
    room.check({ turns: alone, readersShare: false });
  }
  return { operations: alone, batch };
}

/** A hundred tasks take 20 turns each; every tenth turn is a write. */
export function takingTurns(form: AnyRwLock, library: unknown): Workload {
  async function task(lock: unknown, room: Room, index: number): Promise<void> {
    const { permits, run } = form;
    for (let turn = 0; turn < turns; turn++) {
      const writes = (index + turn) % writeEvery === 0;
      if (!permits) {
        if (writes) await run.runWrite(lock, room.write, library);
        else await run.runRead(lock, room.read, library);
      } else if (writes) {
        const permit = await permits.write(lock);
        room.beginWrite();
        await resolved;
        room.endWrite();
        permits.endWrite(lock, permit);
      } else {
        const permit = await permits.read(lock);
        room.beginRead();
        await resolved;
        room.endRead();
        permits.endRead(lock, permit);
      }
    }
  }

  async function batch(): Promise<void> {
    const lock = (form.permits ?? form.run).create(library);
    const room = new Room();
    const all: Promise<void>[] = [];
    for (let index = 0; index < tasks; index++) all.push(task(lock, room, index));
    await Promise.all(all);
    if (form.permits?.lacksExclusion) return;
    room.check({ turns: tasks * turns, readersShare: true });
  }
  return { operations: tasks * turns, batch };
}

const fewTurns = 500;
const who = { read: 'reader', write: 'writer' } as const;

/** Whether a stream of readers, of which two always overlap, starves a writer, or a stream of writers a reader. */
export async function starves(
  { permits, run }: AnyRwLock,
  library: unknown,
): Promise<string | undefined> {
  if (permits?.lacksExclusion) return undefined;
  const enter = {
    read: async (lock: unknown, work: () => Promise<void>) => {
      if (run) return void (await run.runRead(lock, work, library));
      const permit = await permits.read(lock);
      await work();
      permits.endRead(lock, permit);
    },
    write: async (lock: unknown, work: () => Promise<void>) => {
      if (run) return void (await run.runWrite(lock, work, library));
      const permit = await permits.write(lock);
      await work();
      permits.endWrite(lock, permit);
    },
  };
  for (const [many, one] of [
    ['read', 'write'],
    ['write', 'read'],
  ] as const) {
    const lock = (permits ?? run).create(library);
    let streamed = 0;
    let gotInAfter: number | undefined;
    const stream = async () => {
      while (streamed < fewTurns) {
        await enter[many](lock, async () => {
          streamed += 1;
          await resolved;
          await resolved;
        });
      }
    };
    const streams = [stream(), late().then(stream), stream()];
    const single = late().then(() =>
      enter[one](lock, async () => {
        gotInAfter = streamed;
      }),
    );
    await Promise.all([...streams, single]);
    if (gotInAfter === undefined || gotInAfter >= fewTurns) {
      return `let a stream of ${who[many]}s starve a ${who[one]}`;
    }
  }
  return undefined;
}

/** Resolves some turns later, so that the streams do not move in step. */
async function late(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await resolved;
}
