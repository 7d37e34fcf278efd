import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CellProcess } from './cell.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cell-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a cell whose process is this program of Node. */
function start(code: string, limitMilliseconds = 10_000, signal = new AbortController().signal) {
  return startCommand([process.execPath, '-e', code], limitMilliseconds, signal);
}

function startCommand(
  command: readonly [string, ...string[]],
  limitMilliseconds = 10_000,
  signal = new AbortController().signal,
) {
  const cell = { id: 'cell', subjects: ['one'], limitMilliseconds, command: () => command };
  return CellProcess.start({ module: '', cell, rows: [], subject: 'one', signal });
}

const slices = '{"slices":[{"name":"work","condition":"quiet"}]}';
const measurement = '{"ok":true,"samples":{"speed":[1]}}';

/** Answers requests, with these words before each answer. */
const serving = (before: string) => `
  console.log('${before}');
  console.log('${slices}');
  process.stdin.on('data', () => {
    console.log('${before}');
    console.log('{"samples":{"speed":2}}');
  });
  process.stdin.on('end', () => console.log('${measurement}'));
`;

describe('the process of a cell', () => {
  it('may print lines that are not of the protocol', async () => {
    for (const noise of ['{"level":30}', '{}', '{broken', 'null', '[1]', '{"slices":1}']) {
      const cell = await start(serving(noise), 3_000);
      expect(cell.slices).toEqual([{ name: 'work', condition: 'quiet' }]);
      expect(await cell.run('work', 1)).toEqual({ speed: 2 });
      expect(await cell.end()).toMatchObject({ ok: true, samples: { speed: [1] } });
    }
  });

  it('has failed if its program cannot be started', async () => {
    const file = join(folder, 'program');
    writeFileSync(file, '');
    chmodSync(file, 0o644);
    const cell = await startCommand([file]);
    expect(cell.ended).toMatchObject({ ok: false, crashed: true });
    expect(cell.ended?.note).toContain('EACCES');
  });

  it('has failed if it ends between two requests', async () => {
    const cell = await start(
      `console.log('${slices}'); process.stdin.once('data', () => process.exit(7));`,
    );
    expect(await cell.run('work', 1)).toBeUndefined();
    expect(await cell.run('work', 1)).toBeUndefined();
    expect(await cell.end()).toMatchObject({
      ok: false,
      note: 'its process broke down (exit 7)',
    });
  });

  it('has failed if it hangs when the lab has enough, even with a measurement', async () => {
    const cell = await start(
      `console.log('${slices}'); console.log('${measurement}'); setInterval(() => {}, 1000);`,
      1_000,
    );
    expect(await cell.end()).toMatchObject({ ok: false, note: 'did not finish within 1 s' });
  });

  it('ends although a process that it started in a session of its own holds its output', async () => {
    const id = join(folder, 'id');
    const left = `
      const { spawn } = require('node:child_process');
      const options = { detached: true, stdio: ['ignore', 'inherit', 'inherit'] };
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], options);
      require('node:fs').writeFileSync('${id}', String(child.pid));
      console.log('${measurement}');
      process.exit(0);
    `;
    try {
      const cell = await start(left, 2_000);
      expect(cell.ended).toMatchObject({ ok: true });
    } finally {
      if (existsSync(id)) process.kill(Number(readFileSync(id, 'utf8')), 'SIGKILL');
    }
  }, 10_000);

  it('is killed when the run is interrupted', async () => {
    const interruption = new AbortController();
    const cell = await start(serving(''), 10_000, interruption.signal);
    const answer = cell.run('work', 1).then(() => cell.end());
    interruption.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(cell.end()).rejects.toThrow('aborted');
    expect(cell.ended?.ok).toBe(false);
  });
});
