import { describe, expect, it } from 'vitest';
import type { NativeCell } from '../../harness/table.js';
import { lockedVersion } from '../../harness/versions.js';
import { inForm } from './forms.js';
import { tests } from './suites.js';
import table from './table.js';

const budget = { warmupMilliseconds: 80, measureMilliseconds: 120 };

function testNamed(name: string) {
  const found = tests.find(({ suite, test }) => `${suite}/${test}` === name);
  if (!found) throw new Error(`no test ${name}`);
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
  it('passes test, form and duration to the program of its runtime', () => {
    const { cell } = inForm('cores', testNamed('sync_notify/notify_one/50'));
    const [program, ...words] = cell.command('nio', budget);
    expect(program).toMatch(/runtime-nio$/);
    expect(words).toEqual(['cores', 'sync_notify/notify_one/50', '40', '120']);
  });

  it('has its floor once, as published', () => {
    const test = testNamed('sync_watch/contention_resubscribe/500');
    const published = inForm('published', test).cell;
    const floor = published.subjects.at(-1) ?? '';
    expect(published.command(floor, budget).slice(1, 3)).toEqual(['floor', 'worked/500']);
    expect(inForm('native', test).cell.subjects).not.toContain(floor);
  });

  it('exists a second time with a worker per core if it has more than two workers', () => {
    const ids = table.cells.map(({ id }) => id).filter((id) => id.endsWith(', a worker per core'));
    expect(ids).toHaveLength(33);
    expect(ids).not.toContain('spawn/threaded_scheduler_spawn_10, a worker per core');
  });
});

it('finds the version of a crate in a lock file, and names a missing crate', () => {
  const lock =
    '[[package]]\nname = "nio-task"\nversion = "0.2.0"\n\n[[package]]\nname = "nio"\nversion = "0.1.4"\n';
  expect(lockedVersion(lock, 'nio')).toBe('0.1.4');
  expect(() => lockedVersion(lock, 'tokio')).toThrow('Cargo.lock: expected the crate tokio');
});

it('begins with the headline', () => {
  const [first] = table.cells as readonly NativeCell[];
  expect(first?.id).toBe('spawn/threaded_scheduler_spawn_1000');
});

describe('what the document leaves out', () => {
  it('compares fork and join with its floor', () => {
    const cell = (table.cells as readonly NativeCell[]).find(
      ({ id }) => id === 'fork_join/task/4x300',
    );
    const floor = cell?.subjects.at(-1) ?? '';
    expect(cell?.command(floor, budget).slice(1, 3)).toEqual(['floor', 'fork_join/4x300']);
    expect(cell?.command('nio', budget).slice(1, 3)).toEqual(['native', 'fork_join/task/4x300']);
  });

  it('has a cell for each of its rows', () => {
    const ids = new Set(table.cells.map(({ id }) => id));
    expect(table.rows.filter(({ cell }) => !ids.has(cell))).toEqual([]);
    expect(new Set(table.rows.map(({ row }) => row)).size).toBe(table.rows.length);
  });
});
