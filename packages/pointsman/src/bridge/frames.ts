/** What the frames of a bridge say, and what their two words mean. */

/** Call `first` of function `second`; the payload are the arguments. */
export const CALL = 1;
/** The same, from a thread that sleeps until it has the answer. */
export const BLOCKING_CALL = 2;
/** The same without an answer; `first` is 0. */
export const SEND = 3;
/** Answers call `first`. */
export const RESULT = 4;
/** Call `first` has thrown the payload. */
export const FAILED = 5;
/** Nobody waits for call `first` any more. */
export const CANCEL = 6;
/** `second` references to `first` are not in use any more. */
export const RELEASE = 7;
/** The signal `first` has been aborted, with the payload as its reason. */
export const ABORT = 8;
/** A liveness check, and its answer. */
export const PING = 9;
export const PONG = 10;
/** The other side closes the bridge, with the payload as its reason. */
export const CLOSE = 11;

/** The kind is in the lowest byte; above it how many values of the frame travel by message. */
export const KIND = 0xff;
export const MOVED = 8;

/** Added to the number of a reference where a function is named by number. */
export const REFERENCE = 0x40000000;
