/** The scenario files agree with the schema, with themselves and with the reference model. */
import { describe, expect, test } from 'vitest';
import { parseScenarioFile } from './load.js';
import { createModel } from './model.js';
import { rules } from './operations.js';
import { missingCapabilities, runScenario } from './runner.js';
import {
  type Capability,
  type Operation,
  operationsOf,
  type Primitive,
  type Scenario,
} from './scenario.js';
import { scenarioFiles } from './scenarios.js';

const files = Object.entries(scenarioFiles);

/** The model uses promises: it grants in the same step, and a grant stays. */
const beyondPromises: readonly Capability[] = ['drop', 'fetched'];

describe.each(files)('%s', (path, file) => {
  test('is in the folder of its primitive, and its names are unique', () => {
    expect(path.split('/')[0]).toBe(file.primitive);
    const names = file.scenarios.map((scenario) => scenario.name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(file.scenarios)('$name', async (scenario) => {
    const operations = scenario.steps.flatMap(operationsOf);
    for (const operation of operations) checkOperation(file.primitive, operation);
    for (const need of neededBy(file.primitive, scenario))
      expect(scenario.needs ?? []).toContain(need);
    if (scenario.setup.refused === undefined) {
      expect(scenario.steps.at(-1)?.expect, 'a scenario ends with an expectation').toBeDefined();
    }
    const model = createModel({ inOrder: scenario.needs?.includes('arrival') ?? false });
    const missing = missingCapabilities(scenario, model);
    if (missing.length > 0) {
      expect(beyondPromises).toEqual(expect.arrayContaining(missing));
      return;
    }
    await runScenario(file.primitive, scenario, model);
  });
});

test('every law and every capability has a scenario', () => {
  const scenarios = files.flatMap(([, file]) => file.scenarios);
  expect([...new Set(files.flatMap(([, file]) => file.laws))].sort()).toEqual([
    'bad-input',
    'cancellation',
    'closing',
    'exclusion',
    'fifo',
    'no-growth',
    'release-once',
  ]);
  expect([...new Set(scenarios.flatMap((scenario) => scenario.needs ?? []))].sort()).toEqual(
    [...createModel().capabilities, 'arrival', ...beyondPromises].sort(),
  );
});

describe('the schema refuses', () => {
  const right = `
    primitive: semaphore
    laws: [fifo]
    statement: Something.
    scenarios:
      - name: a name
        setup: { limit: 1 }
        steps:
          - do: { actor: A, operation: acquire }
            expect: { holding: [A] }`;

  test('no valid file', () => {
    expect(parseScenarioFile('right.yaml', right).scenarios).toHaveLength(1);
  });

  test.each([
    ['an unknown primitive', 'primitive: semaphore', 'primitive: lock'],
    ['an unknown law', '[fifo]', '[lifo]'],
    ['no laws', '[fifo]', '[]'],
    ['a missing name', 'name: a name', 'why: a name'],
    ['an unknown operation', 'operation: acquire', 'operation: grab'],
    ['an option of another operation', 'acquire }', 'acquire, limit: 2 }'],
    ['an operation without an actor', 'actor: A, ', ''],
    ['an actor in lower case', 'actor: A', 'actor: a'],
    ['a negative timeout', 'acquire }', 'acquire, timeout: -1 }'],
    ['a set-limit without a limit', 'operation: acquire', 'operation: set-limit'],
    ['a misspelt expectation', 'holding:', 'held:'],
    ['an actor that holds twice', 'holding: [A]', 'holding: [A, A]'],
    ['an unknown refusal', 'holding: [A]', 'refused: { A: tired }'],
    ['a reason for what has none', 'holding: [A]', 'refused: { A: { timeout: late } }'],
    ['a step that does nothing', 'do: { actor: A, operation: acquire }', ''],
    ['a step that does two things', 'expect:', 'advance: 5\n            expect:'],
    ['an unknown capability', 'setup: { limit: 1 }', 'needs: [magic]\n        setup: {}'],
  ])('%s', (_, from, to) => {
    expect(right).toContain(from);
    expect(() => parseScenarioFile('wrong.yaml', right.replace(from, to))).toThrow(
      /wrong\.yaml does not match scenario\.schema\.json/,
    );
  });
});

/** Parts that the primitive does not have; the schema leaves this check to the test. */
function checkOperation(primitive: Primitive, operation: Operation): void {
  const rule = rules[primitive][operation.operation];
  expect(rule, `${primitive} has ${operation.operation}`).toBeDefined();
  const takes = rule?.begins === 'free' && rule.gives !== undefined && rule.gives !== 'subscribed';
  expect('key' in operation).toBe(takes && primitive.startsWith('keyed-'));
  expect('keys' in operation).toBe(takes && primitive === 'lock-all');
  if (primitive.endsWith('mutex')) expect(operation).not.toHaveProperty('permits');
  else expect(operation).not.toHaveProperty('owner');
  if (operation.operation === 'read') expect(operation).not.toHaveProperty('priority');
}

/** The capabilities that follow from the operations; a scenario may need more. */
function neededBy(primitive: Primitive, { setup, steps }: Scenario): Set<Capability> {
  const needs = new Set<Capability>();
  const number = (value: number | undefined) => {
    if (value !== undefined && (value < 0 || !Number.isInteger(value))) needs.add('loose-numbers');
  };
  for (const value of [setup.limit, setup.size, setup.count, setup.capacity]) {
    if (value !== 'unbounded') number(value);
  }
  if ('when-full' in setup) needs.add('when-full');
  if ('capacity' in setup && primitive === 'channel' && setup.capacity === 0) {
    needs.add('rendezvous');
  }
  for (const operation of steps.flatMap(operationsOf)) {
    if ('permits' in operation) needs.add('permits');
    for (const value of [operation.permits, operation.count, operation.max]) number(value);
    if ('priority' in operation) needs.add('priority');
    if ('timeout' in operation) needs.add('timeout');
    if ('aborted' in operation) needs.add('signal');
    if ('owner' in operation) needs.add('owner');
    if ('reason' in operation) needs.add('reason');
    if (operation.operation.startsWith('try-')) needs.add('try');
    if (operation.operation === 'close' || operation.operation === 'discard') needs.add('close');
    if (operation.operation === 'drain') needs.add('drain');
    if (operation.operation === 'set-limit') needs.add('resize');
    if (operation.operation === 'release-again') needs.add('release-again');
  }
  return needs;
}
