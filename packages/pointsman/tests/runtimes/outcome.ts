/** What a runtime reports when all its tests have run: one line that starts with the mark. */
export interface Outcome {
  passed: number;
  skipped: number;
  failures: { name: string; text: string }[];
}

export const outcomeMark = 'pointsman-test-outcome:';
