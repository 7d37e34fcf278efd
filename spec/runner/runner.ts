/** Plays one scenario on one implementation. It reads no files, so it runs in every runtime. */
import type { Implementation } from './implementation.js';
import {
  type Capability,
  operationsOf,
  type Primitive,
  type Scenario,
  type Step,
} from './scenario.js';
import { ScenarioFailure, Stage } from './stage.js';

/** Returns the needed capabilities that the implementation lacks: the reason to skip the scenario. */
export function missingCapabilities(
  scenario: Scenario,
  implementation: Implementation,
): Capability[] {
  return (scenario.needs ?? []).filter((need) => !implementation.capabilities.has(need));
}

/** Throws a ScenarioFailure that names the step and every difference. */
export async function runScenario(
  primitive: Primitive,
  scenario: Scenario,
  implementation: Implementation,
): Promise<void> {
  let stage: Stage;
  try {
    stage = await Stage.create(primitive, scenario, implementation);
  } catch (error) {
    if (scenario.setup.refused === implementation.kindOf(error)) return;
    throw new ScenarioFailure(`the setup was refused: ${String(error)}`, { cause: error });
  }
  if (scenario.setup.refused) {
    throw new ScenarioFailure(`the setup should be refused as ${scenario.setup.refused}`);
  }
  try {
    for (const [index, step] of scenario.steps.entries()) {
      await stage.play(step);
      const differences = await stage.compare(step.expect);
      if (differences.length > 0) {
        const title = `step ${index + 1}: ${describe(step)}`;
        throw new ScenarioFailure([title, ...differences].join('\n  '));
      }
    }
  } finally {
    await stage.clear();
  }
}

/**
 * Plays steps on a correct implementation and records the outcome as a scenario for others. Operations that an actor
 * cannot begin in its current state are omitted, so the steps may be random.
 */
export async function recordScenario(
  primitive: Primitive,
  { name, setup, steps }: Scenario,
  implementation: Implementation,
): Promise<Scenario> {
  const stage = await Stage.create(primitive, { setup, steps }, implementation);
  try {
    const recorded: Step[] = [];
    for (const step of steps) {
      const played = await stage.play(step, true);
      recorded.push({ ...played, expect: await stage.state() });
    }
    return { name, setup, steps: recorded };
  } finally {
    await stage.clear();
  }
}

function describe(step: Step): string {
  if ('advance' in step) return `the clock moves by ${step.advance} ms`;
  return operationsOf(step)
    .map(({ actor, operation, ...options }) => {
      const text = Object.entries(options).map(([name, value]) => ` ${name} ${value}`);
      return `${actor} ${operation}${text.join('')}`;
    })
    .join(', then at once ');
}
