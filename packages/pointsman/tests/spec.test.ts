/** The scenarios of `spec/` on `pointsman`. */
import { missingCapabilities, runScenario } from '@pointsman/spec';
import { scenarioFiles } from '@pointsman/spec/scenarios';
import { afterEach, beforeEach, describe, test, vi } from 'vitest';
import { inOneLoop } from './implementation.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const played: readonly string[] = ['semaphore', 'mutex', 'keyed-semaphore', 'keyed-mutex'];
const files = Object.entries(scenarioFiles).filter(([, { primitive }]) =>
  played.includes(primitive),
);

describe.each(files)('%s', (_, { primitive, scenarios }) => {
  for (const scenario of scenarios) {
    const missing = missingCapabilities(scenario, inOneLoop);
    const lacks = missing.length > 0 ? ` (lacks: ${missing.join(', ')})` : '';
    test.skipIf(missing.length > 0)(`${scenario.name}${lacks}`, async () => {
      await runScenario(primitive, scenario, inOneLoop);
      await runScenario(primitive, scenario, { ...inOneLoop, sparing: true });
    });
  }
});
