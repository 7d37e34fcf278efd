/** The kinds of frames, and the meaning of their two words, `first` and `second`. */

/** Calls function `second` with the payload as arguments; `first` is the number of the call. */
export const CALL = 1;
/** Like {@link CALL}, from a thread that is blocked until the reply arrives. */
export const BLOCKING_CALL = 2;
/** Like {@link CALL}, without a reply; `first` is 0. */
export const SEND = 3;
/** The reply to call `first`: the payload is its result. */
export const RESULT = 4;
/** The reply to call `first`: it threw the payload. */
export const FAILED = 5;
/** Call `first` was cancelled: its reply is no longer needed. */
export const CANCEL = 6;
/** Returns `second` references to `first`. */
export const RELEASE = 7;
/** Signal `first` was aborted, with the payload as its reason. */
export const ABORT = 8;
/** A liveness check and its reply. */
export const PING = 9;
export const PONG = 10;
/** The other side closes the bridge, with the payload as its reason. */
export const CLOSE = 11;

/** Mask of the kind in its word. The bits from VALUES_SHIFT up are the number of values that are sent by message. */
export const KIND_MASK = 0xff;
export const VALUES_SHIFT = 8;

/** Added to the number of a reference where a frame names a function by number. */
export const REFERENCE = 0x40000000;
