/** What a runtime reports when all its tests have run: one line that starts with the mark. */
export interface Outcome {
  passed: number;
  skipped: number;
  failures: { name: string; text: string }[];
}

export const outcomeMark = 'pointsman-test-outcome:';

/** Marks the line with a test's name, printed before each test: a run that hangs shows where it stopped. */
export const startedMark = 'pointsman-test-started:';
