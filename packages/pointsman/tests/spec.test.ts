/** The scenarios of `spec/` on the task distance. */
import { missingCapabilities, runScenario } from '@pointsman/spec';
import { scenarioFiles } from '@pointsman/spec/scenarios';
import { afterEach, beforeEach, describe, test, vi } from 'vitest';
import { taskDistance } from './implementation.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.entries(scenarioFiles))('%s', (_, { primitive, scenarios }) => {
  for (const scenario of scenarios) {
    const missing = missingCapabilities(scenario, taskDistance);
    const lacks = missing.length > 0 ? ` (lacks: ${missing.join(', ')})` : '';
    test.skipIf(missing.length > 0)(`${scenario.name}${lacks}`, async () => {
      await runScenario(primitive, scenario, taskDistance);
      await runScenario(primitive, scenario, { ...taskDistance, sparing: true });
    });
  }
});
