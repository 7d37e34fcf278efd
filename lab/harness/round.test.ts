import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { measureRound } from './round.js';
import type { NativeCell } from './table.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'round-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('leaves no process behind if another one has no command', async () => {
  const path = join(folder, 'id');
  const program = `
    require('node:fs').writeFileSync('${path}', String(process.pid));
    console.log('{"slices":[]}');
    process.stdin.resume();
  `;
  let isStarted = false;
  const cell: NativeCell = {
    id: 'cell',
    subjects: ['unknown', 'waiting'],
    command(subject) {
      if (subject === 'unknown') throw new Error('no such program');
      isStarted = true;
      return [process.execPath, '-e', program];
    },
  };
  const runs = cell.subjects.map((subject) => ({ subject, control: false }));
  const round = measureRound({
    module: '',
    group: { cell, rows: [], runs, once: true },
    runs,
    isFirst: false,
    signal: new AbortController().signal,
    onProgress() {},
  });
  await expect(round).rejects.toThrow('no such program');
  // With one core the other may not have been started.
  if (!isStarted) return;
  const status = `/proc/${readFileSync(path, 'utf8')}/stat`;
  await expect
    .poll(() => existsSync(status) && !/\) [ZX] /.test(readFileSync(status, 'utf8')))
    .toBe(false);
});

it('runs once more if a process crashes between its slices', async () => {
  const program = (subject: string) => `
    const { existsSync, writeFileSync } = require('node:fs');
    console.log('{"slices":[{"name":"work","condition":"quiet"}]}');
    process.stdin.on('data', () => {
      const mark = '${folder}/${subject}';
      if ('${subject}' === 'always' || !existsSync(mark)) {
        writeFileSync(mark, '');
        process.exit(7);
      }
      console.log('{"samples":{"speed":2}}');
    });
    process.stdin.on('end', () => console.log('{"ok":true,"samples":{}}'));
  `;
  const cell: NativeCell = {
    id: 'cell',
    subjects: ['once', 'always'],
    command: (subject) => [process.execPath, '-e', program(subject)],
  };
  const runs = cell.subjects.map((subject) => ({ subject, control: false }));
  const found = await measureRound({
    module: '',
    group: { cell, rows: [], runs, once: true },
    runs,
    isFirst: false,
    signal: new AbortController().signal,
    onProgress() {},
  });
  const notes = found.map(({ subject, ok, note }) => [subject, ok ? 'ok' : note]);
  expect(Object.fromEntries(notes)).toEqual({
    once: 'ok',
    always: 'its process broke down (exit 7)',
  });
});
