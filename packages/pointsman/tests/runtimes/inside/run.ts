/**
 * Runs the bundled test files inside a runtime and reports the outcome as lines of text, the only output that a
 * process, a page and a worker have in common.
 */
import {
  type File,
  type Suite,
  startTests,
  type Task,
  type Test,
  type VitestRunner,
} from '@vitest/runner';
import { getFullName, getTests } from '@vitest/runner/utils';
import { testFiles } from 'pointsman-test-files';
import { type Outcome, outcomeMark, startedMark } from '../outcome.js';
import { checkAssertions, resetAssertions } from './vitest.js';

class Runner implements VitestRunner {
  readonly #report: (line: string) => void;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  readonly config = {
    root: '/',
    name: undefined,
    setupFiles: [],
    passWithNoTests: false,
    testNamePattern: undefined,
    allowOnly: false,
    sequence: { seed: 0, hooks: 'stack' as const, setupFiles: 'list' as const },
    chaiConfig: undefined,
    maxConcurrency: 1,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
    tagsFilter: undefined,
    strictTags: false,
  };

  async importFile(path: string): Promise<unknown> {
    return testFiles[path]?.();
  }

  onBeforeTryTask(test: Test): void {
    this.#report(startedMark + getFullName(test));
    resetAssertions();
  }

  onAfterTryTask(): void {
    checkAssertions();
  }
}

/** An unhandled rejection fails the run, as in vitest. */
function watchRejections(): Map<Promise<unknown>, unknown> {
  const rejections = new Map<Promise<unknown>, unknown>();
  if (typeof process === 'undefined') {
    globalThis.addEventListener('unhandledrejection', (event) => {
      event.preventDefault();
      rejections.set(event.promise, event.reason);
    });
    // workerd reports every rejection at once, before a microtask can handle it.
    globalThis.addEventListener('rejectionhandled', (event) => rejections.delete(event.promise));
  } else process.on('unhandledRejection', (reason, promise) => rejections.set(promise, reason));
  return rejections;
}

export async function run(report: (line: string) => void): Promise<void> {
  const rejections = watchRejections();
  // The runner's own timers do not keep a runtime alive, so a hanging test would end the run.
  const alive = setInterval(() => {}, 1000);
  const files = await startTests(Object.keys(testFiles), new Runner(report));
  // A browser reports an unhandled rejection some tasks after it happened.
  await new Promise((resolve) => setTimeout(resolve, 100));
  clearInterval(alive);
  const outcome: Outcome = { passed: 0, skipped: 0, failures: [] };
  for (const test of getTests(files)) count(test, outcome);
  for (const file of files) findSuiteErrors(file, outcome);
  for (const reason of rejections.values()) {
    outcome.failures.push({ name: 'an unhandled rejection', text: textOf(reason) });
  }
  report(outcomeMark + JSON.stringify(outcome));
}

function count(test: Test, outcome: Outcome): void {
  const state = test.result?.state;
  if (state === 'pass') outcome.passed += 1;
  else if (state === 'fail') outcome.failures.push(failureOf(test));
  else outcome.skipped += 1;
}

/** A file that cannot be loaded and a hook that fails have no test of their own. */
function findSuiteErrors(suite: File | Suite, outcome: Outcome): void {
  if (suite.result?.errors?.length) outcome.failures.push(failureOf(suite));
  for (const task of suite.tasks) if (task.type === 'suite') findSuiteErrors(task, outcome);
}

function failureOf(task: Task): Outcome['failures'][number] {
  const errors = task.result?.errors ?? [];
  return { name: getFullName(task), text: errors.map(textOf).join('\n') };
}

function textOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { stack, message, diff, cause } = error as Record<string, unknown>;
  const text = stack?.toString().includes(String(message)) ? stack : `${message}\n${stack ?? ''}`;
  const parts = [text, diff, cause && `caused by: ${textOf(cause)}`];
  return parts.filter(Boolean).join('\n');
}
