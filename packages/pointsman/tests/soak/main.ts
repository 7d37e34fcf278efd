/** `node run.js [calls] [seed]`: the soak as a program. Fails at the first error. */

import { fileURLToPath } from 'node:url';
import { fewest, growth, soak } from './soak.js';

const [calls = '10000000', seed = '1'] = process.argv.slice(2);

try {
  const result = await soak({
    calls: Number(calls),
    seed: Number(seed),
    workerFile: fileURLToPath(new URL('worker.mjs', import.meta.url)),
    log: (line) => console.log(line),
  });
  const grown = growth(result);
  if (grown) throw new Error(grown);
  const memory = result.workers < fewest ? 'too few workers to judge memory' : 'memory flat';
  const { workers, seconds, answered, ended } = result;
  console.log(
    `ok: ${result.calls} calls by ${workers} workers in ${seconds.toFixed(0)} s, each with its own answer; ${answered} calls to workers answered, ${ended} ended with them; ${memory}`,
  );
} catch (error) {
  console.error(error);
  console.log('FAILED');
  process.exit(1);
}
