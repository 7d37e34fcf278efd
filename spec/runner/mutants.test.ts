/**
 * Tests of the scenarios: the reference model with one mistake, in most cases one that a real library made, must fail in
 * the files that the mutant names.
 */
import { describe, expect, test } from 'vitest';
import { barrierMutants } from './mutants/barrier.js';
import { channelMutants } from './mutants/channel.js';
import { commonMutants } from './mutants/common.js';
import { keyedMutants } from './mutants/keyed.js';
import { lockAllMutants } from './mutants/lock-all.js';
import { createMutant, type Mutant } from './mutants/mutant.js';
import { notifyMutants } from './mutants/notify.js';
import { rwlockMutants } from './mutants/rwlock.js';
import { semaphoreMutants } from './mutants/semaphore.js';
import { broadcastMutants, watchMutants } from './mutants/subscribers.js';
import { missingCapabilities, runScenario } from './runner.js';
import { scenarioFiles } from './scenarios.js';

const mutants = [
  commonMutants,
  semaphoreMutants,
  keyedMutants,
  lockAllMutants,
  rwlockMutants,
  notifyMutants,
  barrierMutants,
  channelMutants,
  broadcastMutants,
  watchMutants,
].flatMap((each) => Object.entries(each));

test('every mutant has a unique name', () => {
  const names = mutants.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
});

/** Returns the files in which an implementation fails at least one scenario. */
async function failingFiles(name: string, mutant: Mutant): Promise<string[]> {
  const failing: string[] = [];
  for (const [path, file] of Object.entries(scenarioFiles)) {
    for (const scenario of file.scenarios) {
      const inOrder = scenario.needs?.includes('arrival') ?? false;
      const implementation = createMutant(name, mutant, { inOrder });
      if (missingCapabilities(scenario, implementation).length > 0) continue;
      const failed = await runScenario(file.primitive, scenario, implementation).then(
        () => false,
        () => true,
      );
      if (!failed) continue;
      failing.push(path);
      break;
    }
  }
  return failing;
}

const caught = new Set<string>();

describe('the scenarios catch a primitive that', () => {
  test.each(mutants)('%s', async (name, mutant) => {
    const failing = await failingFiles(name, mutant);
    expect(failing).toEqual(expect.arrayContaining([...mutant.fails]));
    for (const path of mutant.fails) caught.add(path);
  });
});

test('every scenario file catches a mistake', () => {
  expect([...caught].sort()).toEqual(Object.keys(scenarioFiles).sort());
});
