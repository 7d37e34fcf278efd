/** What a runtime reports when all its tests have run: one line that starts with the mark. */
export interface Outcome {
  passed: number;
  skipped: number;
  failures: { name: string; text: string }[];
}

export const outcomeMark = 'pointsman-test-outcome:';

/** Before each test, a line with this mark and the test's name: a run that does not end says where it stopped. */
export const startedMark = 'pointsman-test-started:';
