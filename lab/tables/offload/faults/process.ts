/**
 * The process of one fault: `node process.js <pool> <fault>`. Prints the observed Behaviour as its last line.
 *
 * Invariant: after the fault the pool gets one more task, which must return the right answer, and an uncaught
 * exception in the main thread, which would end a program, is reported.
 */
import type { Behaviour } from '../../../harness/table.js';
import { poolNamed } from '../subjects/index.js';
import { endingOf, wordsOf } from './ending.js';
import { faults } from './faults.js';

const nextMilliseconds = 2_400;

const [name = '', faultName = ''] = process.argv.slice(2);
const fault = faults[faultName];
if (!fault) throw new RangeError(`fault ${faultName}: expected one of ${Object.keys(faults)}`);

let uncaught = 0;
process.on('uncaughtException', () => {
  uncaught += 1;
});

const pool = await poolNamed(name).open({ threads: 1, ...fault.settings });
if ((await pool.run('echo', 1)) !== 1) throw new Error('answered another number than 1');
const { words, sound } = await fault.provoke(pool);
const next = await endingOf(() => pool.run('echo', 2), nextMilliseconds);
const nextWords = wordsOf(next).replace(/^resolves/, 'comes back');
const isNextSound = next.kind === 'resolved' && next.value === 2 && nextWords === 'comes back';

const behaviour: Behaviour = {
  words: [
    words,
    isNextSound ? 'next task ok' : `next task ${nextWords}`,
    ...(uncaught > 0 ? ['an uncaught exception in the main thread'] : []),
  ].join('; '),
  sound: sound && isNextSound && uncaught === 0,
};
process.stdout.write(`\n${JSON.stringify(behaviour)}\n`, () => process.exit(0));
