/** What is not as expected, one line each. */
export class Differences {
  readonly lines: string[] = [];

  compare(what: string, found: unknown, wanted: unknown): void {
    const [foundText, wantedText] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (foundText === wantedText) return;
    this.lines.push(`${what}: expected ${wantedText}, found ${foundText}`);
  }

  /** Only where the implementation has the counter and the scenario speaks of it. */
  compareKnown(what: string, found: unknown, wanted: unknown): void {
    if (found !== undefined && wanted !== undefined) this.compare(what, found, wanted);
  }
}
