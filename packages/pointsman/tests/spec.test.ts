/** The scenarios of `spec/` on `pointsman`. */
import { missingCapabilities, runScenario } from '@pointsman/spec';
import { scenarioFiles } from '@pointsman/spec/scenarios';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inOneLoop } from './implementation.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Scenarios that `pointsman` breaks. Whoever mends one takes it out here. */
const broken: readonly string[] = [
  // Its lines tell it of the end by promises, and an abort in the same turn comes before them.
  'lock-all/giving-up.yaml: close, then abort, is refused once, as closed',
];

describe.each(Object.entries(scenarioFiles))('%s', (path, { primitive, scenarios }) => {
  for (const scenario of scenarios) {
    const missing = missingCapabilities(scenario, inOneLoop);
    const lacks = missing.length > 0 ? ` (lacks: ${missing.join(', ')})` : '';
    test.skipIf(missing.length > 0)(`${scenario.name}${lacks}`, async () => {
      const played = async () => {
        await runScenario(primitive, scenario, inOneLoop);
        await runScenario(primitive, scenario, { ...inOneLoop, sparing: true });
      };
      if (broken.includes(`${path}: ${scenario.name}`)) await expect(played()).rejects.toThrow();
      else await played();
    });
  }
});
