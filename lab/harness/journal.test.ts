import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GroupRound, type Header, Journal, readJournal } from './journal.js';

const header: Header = {
  kind: 'table',
  table: 'chairs',
  key: 'one',
  machine: {
    cpu: 'a processor',
    cores: 2,
    memory_gibibytes: 4,
    system: 'a system',
    kernel: 'a kernel',
    node: '20.0.0',
    v8: '11.0',
    commit: null,
  },
  wakeUpMicroseconds: 50,
  versions: {},
};

const roundOf = (cell: string, round: number): GroupRound => ({
  kind: 'round',
  cell,
  round,
  date: '2026-01-01T00:00:00.000Z',
  milliseconds: 1,
  load: null,
  subjects: [],
});

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-'));
  path = join(folder, 'chairs.jsonl');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function open(cells: readonly string[], changes: object = {}): Journal {
  const journal = new Journal({ path, header, cells, fresh: false, ...changes });
  journal.begin(cells);
  return journal;
}

function record(cells: readonly string[], rounds: readonly number[]): Journal {
  const journal = open(cells);
  for (const round of rounds) for (const cell of cells) journal.add(roundOf(cell, round));
  return journal;
}

const roundsKept = (journal: Journal, cell: string) =>
  journal.roundsOf(cell).map(({ round }) => round);

describe('a journal', () => {
  it('continues after an interruption', () => {
    record(['a', 'b'], [1, 2]);
    const resumed = open(['a', 'b']);
    expect(roundsKept(resumed, 'a')).toEqual([1, 2]);
    resumed.add(roundOf('a', 3));
    expect(readJournal(path)?.groups.get('a')?.rounds).toHaveLength(3);
  });

  it.each([
    ['fresh is set', { fresh: true }],
    ['the key differs', { header: { ...header, key: 'two' } }],
  ])('starts over when %s', (_, changes) => {
    record(['a'], [1, 2]);
    expect(roundsKept(open(['a'], changes), 'a')).toEqual([]);
    expect(readFileSync(path, 'utf8').match(/"round":1/g)).toBeNull();
  });

  it('measures one cell again and keeps the others', () => {
    record(['a', 'b'], [1, 2]).finish(['a', 'b']);
    const again = open(['b'], { fresh: true });
    expect(roundsKept(again, 'a')).toEqual([1, 2]);
    expect(roundsKept(again, 'b')).toEqual([]);
    again.add(roundOf('b', 1));
    again.finish(['b']);
    const content = readJournal(path);
    expect(content?.groups.get('a')?.rounds).toHaveLength(2);
    expect(content?.groups.get('b')?.rounds).toHaveLength(1);
  });

  it('keeps the measurements of a smaller run, and measures the rest', () => {
    record(['a'], [1, 2]).finish(['a']);
    const larger = open(['a', 'b']);
    expect(larger.isFinished('a')).toBe(true);
    expect(larger.isFinished('b')).toBe(false);
    expect(roundsKept(larger, 'a')).toEqual([1, 2]);
  });

  it('begins part by part, and discards a measurement only when it is repeated', () => {
    record(['a', 'b'], [1]).finish(['a', 'b']);
    const journal = new Journal({ path, header, cells: ['a', 'b'], fresh: true });
    expect(journal.isFinished('a')).toBe(false);
    journal.begin(['a']);
    journal.add(roundOf('a', 1));
    const known = () => [...(readJournal(path)?.groups ?? [])].map(([cell]) => cell);
    expect(known()).toEqual(['a', 'b']);
    expect(readJournal(path)?.groups.get('b')?.finished).toBe(true);
    journal.begin(['b']);
    expect(readJournal(path)?.groups.get('a')?.rounds).toHaveLength(1);
    expect(readJournal(path)?.groups.get('b')?.rounds).toEqual([]);
  });

  it('loses at most an incomplete last line', () => {
    record(['a'], [1, 2]);
    truncateSync(path, readFileSync(path).length - 20);
    const resumed = open(['a']);
    expect(roundsKept(resumed, 'a')).toEqual([1]);
    resumed.add(roundOf('a', 2));
    expect(
      readJournal(path)
        ?.groups.get('a')
        ?.rounds.map(({ round }) => round),
    ).toEqual([1, 2]);
  });

  it('changes nothing before it begins', () => {
    record(['a'], [1]).finish(['a']);
    const before = readFileSync(path, 'utf8');
    new Journal({ path, header, cells: ['a'], fresh: true });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('is invalid without its first line', () => {
    appendFileSync(path, `${JSON.stringify(roundOf('a', 1))}\n`);
    expect(readJournal(path)).toBeUndefined();
  });
});
