/** The functions as requests by name, for transports of messages. */
import type { HostFunctions } from '../host/functions.js';

export interface Request {
  readonly name: keyof HostFunctions;
  readonly length: number;
}

export function answerOf(functions: HostFunctions, { name, length }: Request): unknown {
  return name === 'bytes' || name === 'text' ? functions[name](length) : functions[name]();
}

type AnyAnswer = never;

/** `ask` determines by the type of its answer whether the functions block. */
export function requests<Answer>(ask: (request: Request) => Answer) {
  return {
    rect: () => ask({ name: 'rect', length: 0 }) as AnyAnswer,
    bytes: (length: number) => ask({ name: 'bytes', length }) as AnyAnswer,
    text: (length: number) => ask({ name: 'text', length }) as AnyAnswer,
    record: () => ask({ name: 'record', length: 0 }) as AnyAnswer,
  };
}
