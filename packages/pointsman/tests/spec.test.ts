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

describe.each(Object.entries(scenarioFiles))('%s', (_, { primitive, scenarios }) => {
  for (const scenario of scenarios) {
    const missing = missingCapabilities(scenario, inOneLoop);
    const lacks = missing.length > 0 ? ` (lacks: ${missing.join(', ')})` : '';
    test.skipIf(missing.length > 0)(`${scenario.name}${lacks}`, async () => {
      await runScenario(primitive, scenario, inOneLoop);
      await runScenario(primitive, scenario, { ...inOneLoop, sparing: true });
    });
  }
});
