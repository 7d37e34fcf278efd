/** An enum is more than types: runtimes that only strip types refuse it, tsx and tsc compile it. */
enum Mark {
  Loud = '!',
}

export const shout = (text: string): string => `${text.toUpperCase()}${Mark.Loud}`;
