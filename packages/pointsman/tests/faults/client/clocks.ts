/** The clocks of this process, which a fault or a question can shift. */

const RealDate = Date;
const realNow = performance.now.bind(performance);
let shift = 0;
let back = 0;
let ahead = 0;

class ChangedDate extends RealDate {
  constructor(...values: []) {
    if (values.length > 0) super(...values);
    else super(ChangedDate.now());
  }

  static override now(): number {
    return RealDate.now() + shift + ahead - back;
  }
}

globalThis.Date = ChangedDate as DateConstructor;
performance.now = () => realNow() + ahead - back;

export function setDate(milliseconds: number): void {
  shift = milliseconds;
}

/** Shifts all clocks by an offset, from the start of the process on. */
export function setAhead(milliseconds: number): void {
  ahead = milliseconds;
}

/** Calls `ask` with the clocks set back by `milliseconds`. */
export function earlier<T>(milliseconds: number, ask: () => T): T {
  back = milliseconds;
  try {
    return ask();
  } finally {
    back = 0;
  }
}
