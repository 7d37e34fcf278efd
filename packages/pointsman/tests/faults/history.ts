/**
 * The history of a client process: what it did with its locks, as lines of a file.
 *
 * Invariant: a line is in the file before the next step begins, so a killed process leaves everything that it did.
 * Times are nanoseconds of the machine's monotonic clock, which all processes share and no fault changes.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';
import type { Share } from './subjects/subject.js';

/** The guard's state at the grant; `overtaken` if it would still have been valid a moment earlier. */
export type AtEntry = 'valid' | 'overtaken' | 'invalid';

/** One lock, from its grant to its end, as far as known. */
export interface Hold {
  readonly client: string;
  readonly id: number;
  readonly keys: readonly string[];
  /** Undefined if it excludes all others. */
  readonly share?: Share | undefined;
  readonly token: number;
  readonly requested: number;
  readonly entered: number;
  readonly atEntry: AtEntry;
  /** The last time the guard reported valid; absent if it never did. */
  lastValid?: number;
  /** When its signal aborted. */
  lost?: number;
  /** The guard reported valid after its signal had aborted. */
  revived?: number;
  left?: number;
  /** When a writer asked to become a reader. */
  downgraded?: number;
  /** The holder left with an invalid guard whose signal had not aborted. */
  silent?: boolean;
  /** What the server's state had instead of this lock while the guard was valid. */
  contradiction?: Contradiction;
}

export interface Contradiction {
  readonly kind: 'usurped' | 'forgotten';
  readonly at: number;
  readonly text: string;
}

/** An event that no fault excuses, reported by the client process itself. */
export interface Oddity {
  readonly client: string;
  readonly at: number;
  readonly text: string;
}

/** A request that was never granted: its process was killed, or the request was rejected. */
export interface OpenRequest {
  readonly client: string;
  readonly keys: readonly string[];
  readonly requested: number;
}

export interface History {
  readonly holds: Hold[];
  readonly open: OpenRequest[];
  readonly oddities: Oddity[];
}

export function now(): number {
  return Number(process.hrtime.bigint());
}

export class HistoryWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  requested(id: number, at: number, keys: readonly string[]): void {
    this.#write(`ask ${id} ${at} ${keys.join()}`);
  }

  entered(
    hold: Pick<Hold, 'id' | 'keys' | 'share' | 'token' | 'requested' | 'entered' | 'atEntry'>,
  ): void {
    const { id, requested, entered, token, atEntry, keys, share } = hold;
    const sharing = share === undefined ? '' : ` ${share.weight} ${share.limit}`;
    this.#write(`enter ${id} ${entered} ${requested} ${token} ${atEntry} ${keys.join()}${sharing}`);
  }

  seen(id: number, at: number, valid: boolean): void {
    this.#write(`seen ${id} ${at} ${flag(valid)}`);
  }

  lost(id: number, at: number): void {
    this.#write(`lost ${id} ${at}`);
  }

  downgraded(id: number, at: number): void {
    this.#write(`downgrade ${id} ${at}`);
  }

  left(id: number, at: number, valid: boolean): void {
    this.#write(`leave ${id} ${at} ${flag(valid)}`);
  }

  silent(id: number, at: number): void {
    this.#write(`silent ${id} ${at}`);
  }

  contradicted(id: number, { kind, at, text }: Contradiction): void {
    this.#write(`${kind} ${id} ${at} ${text}`);
  }

  odd(text: string): void {
    this.#write(`odd 0 ${now()} ${text.replaceAll('\n', ' | ')}`);
  }

  #write(line: string): void {
    writeSync(this.#file, `${line}\n`);
  }
}

const flag = (value: boolean) => (value ? 1 : 0);

export function readHistory(client: string, path: string): History {
  return parseHistory(client, readFileSync(path, 'utf8'));
}

export function parseHistory(client: string, text: string): History {
  const holds = new Map<number, Hold>();
  const open = new Map<number, OpenRequest>();
  const oddities: Oddity[] = [];
  const keySets = new Map<string, readonly string[]>();
  const keySet = (names: string) => {
    const known = keySets.get(names) ?? names.split(',');
    keySets.set(names, known);
    return known;
  };
  // After the last line break there may be a line that a killed process did not finish.
  for (const line of text.split('\n').slice(0, -1)) {
    const [kind = '', id = '', time = '', ...rest] = line.split(' ');
    const at = Number(time);
    if (kind === 'odd') {
      oddities.push({ client, at, text: rest.join(' ') });
      continue;
    }
    if (kind === 'ask') {
      open.set(Number(id), { client, keys: keySet(rest[0] ?? ''), requested: at });
      continue;
    }
    if (kind === 'enter') {
      open.delete(Number(id));
      const [requested, token, atEntry, names = '', weight, limit] = rest;
      holds.set(Number(id), {
        client,
        id: Number(id),
        keys: keySet(names),
        ...(weight ? { share: { weight: Number(weight), limit: Number(limit) } } : {}),
        token: Number(token),
        requested: Number(requested),
        entered: at,
        atEntry: atEntry as AtEntry,
        ...(atEntry === 'valid' ? { lastValid: at } : {}),
      });
      continue;
    }
    const hold = holds.get(Number(id));
    if (!hold)
      throw new Error(`a line of ${client} refers to a lock that was not granted: ${line}`);
    if (kind === 'seen' || kind === 'leave') {
      if (rest[0] === '1') {
        if (hold.lost === undefined) hold.lastValid = at;
        else hold.revived ??= at;
      }
      if (kind === 'leave') hold.left = at;
    } else if (kind === 'lost') hold.lost = at;
    else if (kind === 'downgrade') hold.downgraded = at;
    else if (kind === 'silent') hold.silent = true;
    else if (kind === 'usurped' || kind === 'forgotten') {
      hold.contradiction ??= { kind, at, text: rest.join(' ') };
    } else throw new Error(`a line of ${client} that cannot be parsed: ${line}`);
  }
  return { holds: [...holds.values()], open: [...open.values()], oddities };
}
