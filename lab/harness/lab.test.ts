import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GroupRound, readJournal } from './journal.js';
import type { ResultRow, Results } from './results.js';

// The cells' processes run the compiled lab.
const program = fileURLToPath(new URL('../dist/harness/fixture/lab.js', import.meta.url));

// Each run starts many processes.
vi.setConfig({ testTimeout: 60_000 });

let out: string;
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'lab-'));
});
afterEach(() => {
  rmSync(out, { recursive: true, force: true });
});

interface Run {
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>;
}

function start(...options: string[]): Run {
  const lab = spawn(process.execPath, [program, ...options], {
    env: { ...process.env, LAB_OUT: out },
  });
  let text = '';
  for (const stream of [lab.stdout, lab.stderr]) stream.on('data', (data) => (text += data));
  return { process: lab, ended: once(lab, 'close').then(([code]) => ({ code, text })) };
}

const run = (...options: string[]) => start(...options).ended;

function results(): Results {
  return JSON.parse(readFileSync(join(out, 'sample.json'), 'utf8'));
}

function journal(): GroupRound[] {
  const content = readJournal(join(out, 'sample.jsonl'));
  return [...(content?.groups.values() ?? [])].flatMap(({ rounds }) => rounds);
}

function rowNamed(name: string): ResultRow {
  const found = results().rows.find(({ row }) => row === name);
  if (!found) throw new Error(`no row ${name}`);
  return found;
}

/** A killed process stays in the list until its parent has waited for it. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = `/proc/${pid}/stat`;
  return !existsSync(status) || !/\) [ZX] /.test(readFileSync(status, 'utf8'));
}

describe('a whole run', () => {
  it('measures the fixture, and reports how each failing subject failed', async () => {
    const { code, text } = await run('--full', '--rounds', '3');
    expect(text).toContain('Our sample is 2.00 times faster than slow, the fastest peer');
    expect(code).toBe(0);

    const everything = results();
    expect(Object.keys(everything)).toEqual(['table', 'date', 'machine', 'rounds', 'rows']);
    expect(everything).toMatchObject({ table: 'sample', rounds: 3 });
    expect(everything.rows.map(({ row }) => row)).toEqual([
      'speed',
      'time',
      'level speed',
      'failing peers',
      'native speed',
      'seldom speed',
      'speed elsewhere',
    ]);
    for (const row of everything.rows) {
      expect(Object.keys(row)).toEqual([
        'row',
        'unit',
        'better',
        'floor',
        'published',
        'subjects',
        'best_peer',
        'ratio',
        'ratio_low',
        'ratio_high',
        'verdict',
      ]);
      for (const subject of row.subjects) {
        expect(Object.keys(subject)).toEqual([
          'subject',
          'version',
          'ok',
          'median',
          'low',
          'high',
          'note',
        ]);
      }
    }

    expect(rowNamed('speed')).toMatchObject({
      better: 'higher',
      floor: 2000,
      published: { slow: 601.25 },
      best_peer: 'slow',
      ratio: 2,
      verdict: 'faster',
    });
    expect(rowNamed('time')).toMatchObject({ better: 'lower', floor: 0.5, ratio: 2 });
    expect(rowNamed('level speed')).toMatchObject({ ratio: 1, verdict: 'no difference' });
    expect(rowNamed('failing peers')).toMatchObject({
      best_peer: null,
      ratio: null,
      verdict: 'unknown',
    });
    const [ours, slow, wrong] = rowNamed('speed').subjects;
    expect(ours).toMatchObject({ subject: 'ours', ok: true, median: 1200 });
    expect(slow?.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(wrong).toEqual({
      subject: 'wrong',
      version: null,
      ok: false,
      median: null,
      low: null,
      high: null,
      note: 'counted 4,999 of 5,000',
    });
    const notes = rowNamed('failing peers').subjects.map(({ subject, note }) => [subject, note]);
    expect(Object.fromEntries(notes)).toEqual({
      ours: '',
      throws: 'this subject throws',
      'gives up': 'gave up in its third turn',
      exits: 'its process broke down (exit 7)',
      unsettled: 'ended with a promise that never settled',
      hangs: 'did not finish within 2 s',
    });

    expect(text).not.toContain('not measured yet');

    expect(rowNamed('native speed')).toMatchObject({
      best_peer: 'slow',
      ratio: 2,
      verdict: 'faster',
    });
    const native = rowNamed('native speed').subjects.map(({ subject, note }) => [subject, note]);
    expect(Object.fromEntries(native)).toEqual({
      ours: '',
      slow: 'with its defaults',
      wrong: 'gave no finite samples of speed',
      exits: 'its process broke down (exit 7)',
      absent: 'not here: absent, which `make lab` installs if it can',
    });

    const absent = 'not here: absent-runtime, which `make lab` installs if it can';
    expect(rowNamed('speed elsewhere')).toMatchObject({
      verdict: 'unknown',
      subjects: [
        { subject: 'ours', ok: false, note: absent },
        { subject: 'slow', ok: false, note: absent },
      ],
    });

    expect(text).toMatch(/Manners: a fault\n {4}ours {2}says so\n {2}! slow {2}hangs/);
    const manners = journal().filter(({ cell }) => cell === 'manners');
    expect(manners.map(({ round }) => round)).toEqual([1]);
    expect(manners[0]?.subjects.map(({ control }) => control)).toEqual([false, false]);

    const [leftBehind] = readFileSync(join(out, 'left-behind'), 'utf8').trim().split('\n');
    expect(isRunning(Number(leftBehind))).toBe(false);

    const page = readFileSync(join(out, 'report', 'index.html'), 'utf8');
    expect(page).toContain('counted 4,999 of 5,000');
    expect(page).not.toContain('not measured yet');
    expect(page).toContain(
      '<td class="here" data-label="Ours"><span class="absent">not here</span>',
    );
    expect(page).toContain('not sliced: it prints once');
    expect(page).toContain('<td class="note absent" data-label="a fault">hangs</td>');
    expect(page).toContain('make lab TABLE=sample ROW=plain ROUNDS=3');
    expect(page).not.toMatch(/<script|undefined|NaN|\[object/);
    const picture = readFileSync(join(out, 'report', 'sample.svg'), 'utf8');
    expect(picture).not.toMatch(/undefined|NaN/);
  });
});

describe('a run of the headlines', () => {
  it('measures only the first cell, writes the page and names the next command', async () => {
    const { text, code } = await run();
    expect(code).toBe(0);
    expect(new Set(journal().map(({ cell }) => cell))).toEqual(new Set(['plain']));
    expect(journal().map(({ round }) => round)).toEqual([1, 2, 3]);
    expect(results().rows.map(({ row }) => row)).toEqual(['speed', 'time']);
    const leftOut = '5 more rows not measured yet: ';
    expect(text).toContain(`${leftOut}make lab TABLE=sample`);
    const page = readFileSync(join(out, 'report', 'index.html'), 'utf8');
    expect(page).toContain(`${leftOut}<code>make lab TABLE=sample</code>`);
    expect(text).toMatch(
      /Page: .*index\.html\nTook: .* s\nNext: {3}make lab FULL=1 measures every row, .*;\n.*make lab TABLE=sample/,
    );
  });

  it('is kept by a following run of all rows; the next run starts over', async () => {
    await run('--rounds', '1');
    const headline = journal();
    const full = await run('--full', '--rounds', '1');
    expect(full.text).not.toContain('sample, headline');
    expect(full.text).toContain('sample, all other rows');
    expect(journal().slice(0, headline.length)).toEqual(headline);
    expect(journal().some(({ cell }) => cell === 'seldom')).toBe(true);
    await run('--rounds', '1');
    expect(journal().some(({ cell }) => cell === 'seldom')).toBe(true);
    expect(journal().find(({ cell }) => cell === 'plain')).not.toEqual(headline[0]);
  });
});

describe('an interrupted run', () => {
  it('keeps its measurements, says how to continue, and continues', async () => {
    const first = start('--table', 'sample', '--row', 'level', '--rounds', '6');
    await Promise.race([journalHas(1), first.ended]);
    first.process.kill('SIGINT');
    const { code, text } = await first.ended;
    expect(code).toBe(130);
    expect(text).toContain('make lab TABLE=sample ROUNDS=6 ROW=level');
    const kept = journal();
    expect(kept.length).toBeLessThan(6);

    const second = await run('--table', 'sample', '--row', 'level', '--rounds', '6');
    expect(second.text).toContain('continuing after round');
    expect(second.code).toBe(0);
    expect(journal().slice(0, kept.length)).toEqual(kept);
    expect(journal().map(({ round }) => round)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('a run that continues with fewer rounds than it has', () => {
  it('finishes, so that the next run measures again', async () => {
    const again = ['--table', 'sample', '--row', 'level', '--rounds', '2'];
    await run('--table', 'sample', '--row', 'level', '--rounds', '3');
    const path = join(out, 'sample.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, lines.filter((line) => !line.startsWith('{"kind":"end"')).join('\n'));
    await run(...again);
    expect(journal().map(({ round }) => round)).toEqual([1, 2, 3]);
    await run(...again);
    expect(journal().map(({ round }) => round)).toEqual([1, 2]);
  });
});

describe('a run of one row', () => {
  it('replaces that row and keeps the others', async () => {
    await run('--table', 'sample', '--row', 'plain', '--rounds', '1');
    await run('--table', 'sample', '--row', 'level', '--rounds', '1');
    const others = journal().filter(({ cell }) => cell === 'plain');
    const { text } = await run('--table', 'sample', '--row', 'level speed', '--rounds', '3');
    expect(text).toContain('level speed (operations/s, higher is better; 3 rounds)');
    expect(rowNamed('level speed').verdict).toBe('no difference');
    expect(rowNamed('speed').verdict).toBe('unknown');
    expect(results().rounds).toBe(1);
    expect(journal().filter(({ cell }) => cell === 'plain')).toEqual(others);
  });

  it('is kept by the next run of the headlines', async () => {
    await run('--table', 'sample', '--row', 'seldom', '--rounds', '3');
    expect(rowNamed('seldom speed').verdict).toBe('faster');
    const asked = journal();
    await run('--rounds', '1');
    expect(journal().filter(({ cell }) => cell === 'seldom')).toEqual(asked);
    expect(journal().some(({ cell }) => cell === 'plain')).toBe(true);
  });

  it('of ours against itself shows no difference, and stays out of the results', async () => {
    const { text } = await run('--table', 'sample', '--itself');
    expect(text).toContain('sample: 7 rows: 6 no difference, 1 not certain');
    expect(existsSync(join(out, 'sample.json'))).toBe(false);
  });

  it('of one subject stays out of the results', async () => {
    const { text } = await run(
      ...['--table', 'sample', '--row', 'plain', '--subject', 'slow', '--rounds', '3'],
    );
    expect(text).toMatch(/slow\s+600 .*ours: 2\.00 .*faster/);
    expect(existsSync(join(out, 'sample.json'))).toBe(false);
  });
});

describe('a run of a pattern', () => {
  it('measures only matching rows, and stays out of the results', async () => {
    const { text, code } = await run('--table', 'sample', '--row', '^T.me$', '--rounds', '3');
    expect(text).toMatch(/^time \(ms, lower is better; 3 rounds\)$/m);
    expect(text).toContain('9.9 µs of processor time');
    expect(text).toMatch(/ours: 2\.00 \(2\.00 to 2\.00, worst 2\.00\), faster/);
    expect(text).not.toContain('operations/s');
    expect(code).toBe(0);
    expect(existsSync(join(out, 'sample.json'))).toBe(false);
    const trial = readJournal(join(out, 'sample.trial.jsonl'));
    // In the order of the round, which is random; a subject that has failed has no samples.
    const ran = trial?.groups.get('plain')?.rounds[0]?.subjects.find(({ ok }) => ok);
    expect(Object.keys(ran?.samples ?? {}).sort()).toEqual(['processor', 'time']);
  });

  it('of subjects measures those and ours', async () => {
    const { text } = await run(
      ...['--table', 'sample', '--row', 'plain', '--subject', '^(slow|noth)', '--rounds', '1'],
    );
    expect(text).toMatch(/slow +600[\s\S]*nothing +2,000/);
    expect(text).not.toContain('wrong');
  });
});

describe('an invalid command', () => {
  it('is rejected with the expected form', async () => {
    const refusals: readonly (readonly [message: string, ...options: string[]])[] = [
      ['--rounds 0: expected a positive integer', '--rounds', '0'],
      ['--rounds many: expected a positive integer', '--rounds', 'many'],
      ['--table chairs: expected one of sample', '--table', 'chairs'],
      ['--row and --subject need --table: expected one of sample', '--row', 'plain'],
      [
        '--row x: expected a row, a pattern of rows or one of the cells plain',
        ...['--table', 'sample', '--row', 'x'],
      ],
      ['--row (: expected a name or a regular expression', ...['--table', 'sample', '--row', '(']],
      ['--subject y: expected one of ours, slow', '--table', 'sample', '--subject', 'y'],
      ['--round: expected one of --table, --full, --rounds', '--round', '3'],
      ['sample: expected only options', 'sample'],
      ['expected at least one journal', '--report'],
    ];
    const refused = await Promise.all(refusals.map(([, ...options]) => run(...options)));
    for (const [index, { code, text }] of refused.entries()) {
      expect(text).toContain(refusals[index]?.[0]);
      expect(code).toBe(1);
    }
    expect(existsSync(join(out, 'sample.jsonl'))).toBe(false);
  });
});

/** Waits until the journal has this many rounds. */
async function journalHas(rounds: number): Promise<void> {
  const watcher = watch(out);
  try {
    while (journal().length < rounds) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}
