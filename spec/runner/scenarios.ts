/**
 * All scenario files, read from disk. A bundler for a runtime without files replaces this module
 * by its value (see packages/pointsman/tests/runtimes/bundle.ts).
 */
import { loadScenarioFiles } from './load.js';

export const scenarioFiles = loadScenarioFiles();
