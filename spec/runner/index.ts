/** The TypeScript runner of the scenarios. It reads no files; `./scenarios` does. */
export * from './implementation.js';
export { createModel, ModelClock, ModelError, ModelSemaphore } from './model.js';
export { type Rule, rules } from './operations.js';
export { missingCapabilities, recordScenario, runScenario } from './runner.js';
export * from './scenario.js';
export { nextMacrotask } from './settle.js';
export { ScenarioFailure } from './stage.js';
