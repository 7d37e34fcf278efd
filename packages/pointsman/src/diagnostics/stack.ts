/** The stacks of calls. Capturing a stack is cheap; it is formatted only when it is read. */

/** Enough frames to reach the program's code through a framework. */
const FRAMES = 30;

export interface Stack {
  /** The frames, innermost first, as the runtime formats them, without the leading `at`. */
  readonly lines: readonly string[];
}

/** V8's extensions of `Error`, which other engines have in part. */
interface ErrorConstructorOfV8 {
  captureStackTrace?(target: object, below?: unknown): void;
  stackTraceLimit?: number;
  prepareStackTrace?: ((error: unknown, frames: readonly Frame[]) => unknown) | undefined;
}

/** A frame as V8 describes it. */
export interface Frame {
  isAsync(): boolean;
  getFunctionName(): string | null;
  getFileName(): string | null;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
  getEnclosingLineNumber?(): number | null;
  getEnclosingColumnNumber?(): number | null;
}

const V8Error = Error as unknown as ErrorConstructorOfV8;

function withLimit<Result>(limit: number, fn: () => Result): Result {
  const { stackTraceLimit } = V8Error;
  // Unchanged in other engines, and where `Error` is frozen.
  const isRaised = typeof stackTraceLimit === 'number' && stackTraceLimit < limit;
  if (isRaised) Reflect.set(Error, 'stackTraceLimit', limit);
  try {
    return fn();
  } finally {
    if (isRaised) Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

/** Captures the stack of the caller of `below`. */
export function captureStack(below: unknown): Stack {
  const holder: { stack?: string } = withLimit(FRAMES, () => {
    if (V8Error.captureStackTrace === undefined) return new Error();
    const target = {};
    V8Error.captureStackTrace(target, below);
    return target;
  });
  let lines: readonly string[] | undefined;
  return {
    get lines() {
      lines ??= String(holder.stack ?? '')
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '' && !/^Error\b/.test(line))
        .map((line) => line.replace(/^at /, ''));
      return lines;
    },
  };
}

/** Returns the frames below a function; none if there are too many. */
export function captureFrames(below: unknown): readonly Frame[] {
  const limit = 200;
  const { prepareStackTrace } = V8Error;
  const target: { stack?: unknown } = {};
  V8Error.prepareStackTrace = (_, frames) => frames;
  try {
    withLimit(limit, () => V8Error.captureStackTrace?.(target, below));
    const frames = target.stack as readonly Frame[];
    return frames.length < limit ? frames : [];
  } finally {
    V8Error.prepareStackTrace = prepareStackTrace;
  }
}
