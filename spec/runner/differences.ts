/** The differences from the expected state, one line each. */
export class Differences {
  readonly lines: string[] = [];

  compare(what: string, found: unknown, wanted: unknown): void {
    const [foundText, wantedText] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (foundText === wantedText) return;
    this.lines.push(`${what}: expected ${wantedText}, found ${foundText}`);
  }

  /** Compares only counters that the implementation has and the scenario mentions. */
  compareKnown(what: string, found: unknown, wanted: unknown): void {
    if (found !== undefined && wanted !== undefined) this.compare(what, found, wanted);
  }
}
