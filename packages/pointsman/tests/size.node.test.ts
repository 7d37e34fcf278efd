/**
 * The size of the built package in an application: bundled, minified and compressed. The table shows each export
 * alone, and what it adds to those before it.
 */

import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import * as pointsman from 'pointsman';
import * as bridge from 'pointsman/bridge';
import * as diagnostics from 'pointsman/diagnostics';
import * as host from 'pointsman/host';
import * as http from 'pointsman/http';
import * as pool from 'pointsman/pool';
import * as redis from 'pointsman/redis';
import * as shared from 'pointsman/shared';
import { expect, test } from 'vitest';

/** Budgets in bytes, minified and compressed by gzip. */
const entryBudget = 17_450;
const bridgeBudget = 28_050;
const poolBudget = 25_500;
const diagnosticsBudget = 7_330;
const sharedBudget = 32_000;
const hostBudget = 16_320;
const redisBudget = 34_560;
const httpBudget = 1_775;
const mutexOnRedisBudget = 43_610;

/** Of each export that is no error class, alone. So a class does not pay for the features of another. */
const budgetsAlone: Readonly<Record<string, number>> = {
  Semaphore: 3_880,
  Mutex: 4_435,
  KeyedSemaphore: 4_320,
  KeyedMutex: 5_445,
  KeyedRwLock: 4_240,
  RwLock: 3_760,
  Condition: 4_925,
  Limiter: 9_890,
  Channel: 4_265,
  Broadcast: 3_955,
  Watch: 3_545,
  select: 2_140,
  Barrier: 2_295,
  Latch: 2_225,
  Notify: 2_145,
  retryAfter: 595,
};

interface Size {
  readonly minified: number;
  readonly compressed: number;
}

const sizeOf = (names: readonly string[], entry = 'pointsman'): Promise<Size> =>
  sizeOfModule(`export { ${names.join(', ')} } from '${entry}';`);

async function sizeOfModule(contents: string): Promise<Size> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    external: ['node:*'],
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  return { minified: code.length, compressed: gzipSync(code, { level: 9 }).length };
}

/** In the order of the documentation; the others come last. */
const primitives = ['Semaphore', 'Mutex', 'KeyedSemaphore', 'KeyedMutex'];
const others = Object.keys(pointsman).filter((name) => !primitives.includes(name));
const names = [...primitives, ...others];

test(`the whole entry takes at most ${entryBudget} bytes, each export alone its budget`, async () => {
  const lines = ['export              alone    adds   (bytes, minified and gzip)'];
  const tooLarge: string[] = [];
  let before = 0;
  for (const [index, name] of names.entries()) {
    const alone = await sizeOf([name]);
    const { compressed } = await sizeOf(names.slice(0, index + 1));
    const adds = `+${compressed - before}`;
    const isError = /Error$/.test(name);
    if (!isError && !(alone.compressed <= (budgetsAlone[name] ?? 0))) tooLarge.push(name);
    lines.push(name.padEnd(18) + `${alone.compressed}`.padStart(7) + adds.padStart(8));
    before = compressed;
  }
  lines.push(`everything: ${before} B gzip of ${entryBudget} B`);
  console.log(lines.join('\n'));
  expect(before).toBeLessThanOrEqual(entryBudget);
  expect(tooLarge).toEqual([]);
});

test(`the entry pointsman/bridge takes at most ${bridgeBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(bridge), 'pointsman/bridge');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${bridgeBudget} B`;
  console.log(`pointsman/bridge: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(bridgeBudget);
});

test(`the entry pointsman/pool takes at most ${poolBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(pool), 'pointsman/pool');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${poolBudget} B`;
  console.log(`pointsman/pool: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(poolBudget);
});

test(`the entry pointsman/shared takes at most ${sharedBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(shared), 'pointsman/shared');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${sharedBudget} B`;
  console.log(`pointsman/shared: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(sharedBudget);
});

test(`a mutex on Redis takes at most ${mutexOnRedisBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOfModule(
    "export { SharedMutex } from 'pointsman/shared'; export { redis } from 'pointsman/redis';",
  );
  const sizes = `${minified} B minified, ${compressed} B gzip of ${mutexOnRedisBudget} B`;
  console.log(`SharedMutex on redis: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(mutexOnRedisBudget);
});

test(`the entry pointsman/redis takes at most ${redisBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(redis), 'pointsman/redis');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${redisBudget} B`;
  console.log(`pointsman/redis: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(redisBudget);
});

test(`the entry pointsman/host takes at most ${hostBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(host), 'pointsman/host');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${hostBudget} B`;
  console.log(`pointsman/host: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(hostBudget);
});

test(`the entry pointsman/http takes at most ${httpBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(http), 'pointsman/http');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${httpBudget} B`;
  console.log(`pointsman/http: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(httpBudget);
});

test(`the entry pointsman/diagnostics takes at most ${diagnosticsBudget} bytes`, async () => {
  const { minified, compressed } = await sizeOf(Object.keys(diagnostics), 'pointsman/diagnostics');
  const sizes = `${minified} B minified, ${compressed} B gzip of ${diagnosticsBudget} B`;
  console.log(`pointsman/diagnostics: ${sizes}`);
  expect(compressed).toBeLessThanOrEqual(diagnosticsBudget);
});
