/** The functions as requests by name, for transports of messages. */
import type { HostFunctions } from '../host/functions.js';

export interface Request {
  readonly name: keyof HostFunctions;
  readonly given?: number | string;
}

export function answerOf(functions: HostFunctions, { name, given }: Request): unknown {
  return functions[name](given as never);
}

type AnyAnswer = never;

/** `ask` determines by the type of its answer whether the functions block. */
export function requests<Answer>(ask: (request: Request) => Answer) {
  return {
    rect: () => ask({ name: 'rect' }) as AnyAnswer,
    bytes: (length: number) => ask({ name: 'bytes', given: length }) as AnyAnswer,
    text: (length: number) => ask({ name: 'text', given: length }) as AnyAnswer,
    record: () => ask({ name: 'record' }) as AnyAnswer,
    format: (text: string) => ask({ name: 'format', given: text }) as AnyAnswer,
  };
}
