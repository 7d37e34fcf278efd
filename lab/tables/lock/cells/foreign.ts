/** A subject in another language, whose program does the measurement. */
import type { Measurement } from '../../../harness/table.js';
import { foreignSubjects } from '../subjects/index.js';
import { onServer } from './on-server.js';

export function foreignNamed(name: string) {
  const subject = foreignSubjects.find((candidate) => candidate.name === name);
  return (
    subject && {
      measureTest: (test: 'test-1' | 'test-2', milliseconds: number): Promise<Measurement> =>
        onServer(({ address }) => subject.measure(test, address, milliseconds)),
    }
  );
}
