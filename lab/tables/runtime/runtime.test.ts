import { describe, expect, it } from 'vitest';
import type { NativeCell } from '../../harness/table.js';
import { lockedVersion } from '../../harness/versions.js';
import { inForm } from './forms.js';
import { tests } from './suites.js';
import table from './table.js';

function testNamed(name: string) {
  const found = tests.find(({ suite, test }) => `${suite}/${test}` === name);
  if (!found) throw new Error(`no test ${name}`);
  return found;
}

function cellNamed(id: string) {
  const found = (table.cells as readonly NativeCell[]).find((cell) => cell.id === id);
  if (!found) throw new Error(`no cell ${id}`);
  return found;
}

describe('the document', () => {
  it('has every published line, in its order and with both figures', () => {
    const published = table.rows.filter(({ published }) => published);
    expect(published).toHaveLength(49);
    expect(published[0]).toMatchObject({
      heading: 'rt_current_thread',
      column: 'rt_spawn_many_local',
      unit: 'µs',
      published: { nio: 94.34, tokio: 168.89 },
    });
    expect(published.at(-1)).toMatchObject({
      column: 'multi_thread_sleep-8',
      unit: 'ns',
      published: { nio: 16.557, tokio: 32.087 },
    });
  });

  it('is also measured with more tasks than this machine has cores', () => {
    const { cell, rows } = inForm('published', testNamed('spawn_blocking/concurrency/16'));
    expect(cell.subjects).toEqual(['pointsman', 'nio', 'tokio']);
    expect(rows[0]).toMatchObject({ published: { nio: 27_570, tokio: 48_960 } });
  });
});

describe('a cell', () => {
  it('passes form, test and condition to the program of its runtime', () => {
    const { cell } = inForm('native', testNamed('sync_notify/notify_one/500'));
    const [program, ...words] = cell.command('nio');
    expect(program).toMatch(/runtime-nio$/);
    expect(words).toEqual(['native', 'sync_notify/notify_one/500', 'quiet']);
    const busy = cellNamed('server/8000, all cores busy');
    expect(busy.command('nio').slice(1)).toEqual(['native', 'server/8000', 'all cores busy']);
  });

  it('has its floor once, with its own channels', () => {
    const test = testNamed('sync_watch/contention_resubscribe/1000');
    const native = inForm('native', test).cell;
    const floor = native.subjects.at(-1) ?? '';
    expect(native.command(floor).slice(1, 3)).toEqual(['floor', 'worked/1000']);
    expect(inForm('published', test).cell.subjects).not.toContain(floor);
  });

  it('is judged by processor time where one thread does the work, and has a row of it elsewhere', () => {
    const oneThread = inForm('published', testNamed('spawn/basic_scheduler_spawn_1000')).rows;
    expect(oneThread.map(({ judgedByProcessorTime }) => judgedByProcessorTime)).toEqual([true]);
    const several = inForm('published', testNamed('spawn/threaded_scheduler_spawn_1000')).rows;
    expect(several.map(({ measure }) => measure)).toEqual(['time', 'processor']);
    expect(several.some(({ judgedByProcessorTime }) => judgedByProcessorTime)).toBe(false);
  });
});

it('finds the version of a crate in a lock file, and names a missing crate', () => {
  const lock =
    '[[package]]\nname = "nio-task"\nversion = "0.2.0"\n\n[[package]]\nname = "nio"\nversion = "0.1.4"\n';
  expect(lockedVersion(lock, 'nio')).toBe('0.1.4');
  expect(() => lockedVersion(lock, 'tokio')).toThrow('Cargo.lock: expected the crate tokio');
});

it('has all tests of the document in its headline', () => {
  const headline = table.cells.slice(0, table.headlineCells).map(({ id }) => id);
  expect(headline).toHaveLength(54);
  const columns = table.rows.filter(({ column }) => column !== undefined);
  expect(columns.map(({ cell }) => cell)).toEqual(headline);
});

describe('what the document leaves out', () => {
  it('compares fork and join with its floor', () => {
    const cell = cellNamed('fork_join/task/4x300');
    const floor = cell.subjects.at(-1) ?? '';
    expect(cell.command(floor).slice(1, 3)).toEqual(['floor', 'fork_join/4x300']);
    expect(cell.command('nio').slice(1, 3)).toEqual(['native', 'fork_join/task/4x300']);
  });

  it('has a cell for each of its rows', () => {
    const ids = new Set(table.cells.map(({ id }) => id));
    expect(table.rows.filter(({ cell }) => !ids.has(cell))).toEqual([]);
    expect(new Set(table.rows.map(({ row }) => row)).size).toBe(table.rows.length);
  });
});
