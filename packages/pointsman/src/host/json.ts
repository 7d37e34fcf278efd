/** JSON for values with maps and infinite numbers. */

import type { Reply } from '../shared/protocol/protocol.js';

const isMap = (value: unknown): value is { $map: [unknown, unknown][] } =>
  Array.isArray((value as { $map?: unknown } | null)?.$map);

/** The encoding of a map or a number cannot be confused with other values: users choose no key of an object. */
export const stringify = (value: unknown): string =>
  JSON.stringify(value, (_, item) => {
    if (item instanceof Map) return { $map: [...item] };
    return item === Number.POSITIVE_INFINITY ? { $infinity: 1 } : item;
  });

export const parse = (text: string): unknown =>
  JSON.parse(text, (_, item) => {
    if (isMap(item)) return new Map(item.$map);
    return (item as { $infinity?: 1 } | null)?.$infinity === 1 ? Number.POSITIVE_INFINITY : item;
  });

/** Encodes most replies, which have no map and no infinite number, several times as fast. */
export function encodeReply(reply: Reply): string {
  const plain =
    reply.name !== 'done' ||
    reply.results.every(
      (result) =>
        result.name !== 'query' && !Object.values(result).includes(Number.POSITIVE_INFINITY),
    );
  return plain ? JSON.stringify(reply) : stringify(reply);
}

export function decodeReply(text: string): Reply {
  return (text.includes('"$') ? parse(text) : JSON.parse(text)) as Reply;
}
