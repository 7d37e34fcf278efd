/** The clocks of this process, which a fault or a question can shift. */

const RealDate = Date;
const realNow = performance.now.bind(performance);
let shift = 0;
let back = 0;

class ChangedDate extends RealDate {
  constructor(...values: []) {
    if (values.length > 0) super(...values);
    else super(ChangedDate.now());
  }

  static override now(): number {
    return RealDate.now() + shift - back;
  }
}

globalThis.Date = ChangedDate as DateConstructor;
performance.now = () => realNow() - back;

export function setDate(milliseconds: number): void {
  shift = milliseconds;
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
