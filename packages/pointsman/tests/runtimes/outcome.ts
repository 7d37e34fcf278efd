/** The report of a runtime after all tests: one line that starts with the mark. */
export interface Outcome {
  passed: number;
  skipped: number;
  failures: { name: string; text: string }[];
}

export const outcomeMark = 'pointsman-test-outcome:';

/** Marks a line with a test's name, printed before each test: a hanging run shows where it stopped. */
export const startedMark = 'pointsman-test-started:';
