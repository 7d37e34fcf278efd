/** The wall clock of this process, which a fault can set. */

const RealDate = Date;
let shift = 0;

class WrongDate extends RealDate {
  constructor(...values: []) {
    if (values.length > 0) super(...values);
    else super(WrongDate.now());
  }

  static override now(): number {
    return RealDate.now() + shift;
  }
}

export function setDate(milliseconds: number): void {
  shift = milliseconds;
  globalThis.Date = WrongDate as DateConstructor;
}
