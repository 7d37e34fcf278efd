/**
 * The protocol as Redis carries it: operations as the arguments of the script, answers as its reply.
 *
 * Invariant: numbers that exceed what JSON or a 32-bit client keeps travel as decimal text.
 */

import type {
  Batch,
  Grant,
  Message,
  Operation,
  Query,
  Reply,
  Request,
  Result,
} from './protocol.js';

const list = (items: readonly string[]): string[] => [`${items.length}`, ...items];

function wordsOf(operation: Operation): string[] {
  switch (operation.name) {
    case 'lock': {
      const { name, id, tokens, wait, keys, optional } = operation;
      return [name, id, `${tokens}`, wait ? '1' : '0', ...list(keys), ...list(optional)];
    }
    case 'unlock':
    case 'check':
      return [operation.name, operation.id, ...list(operation.keys)];
    case 'wait': {
      const { name, id, condition, keys } = operation;
      return [name, id, condition, ...list(keys)];
    }
    case 'wake':
      return [operation.name, operation.id];
    case 'notify':
      return [operation.name, operation.condition, `${operation.count}`];
    case 'reserve':
      return [operation.name, `${operation.tokens}`];
    case 'leave':
      return [operation.name, operation.session];
    case 'renew':
    case 'query':
      return [operation.name];
  }
}

export function encodeBatch(batch: Batch): string[] {
  const { session, ttl, incarnation, join, listening = false, operations } = batch;
  const renew = operations.some(({ name }) => name === 'renew');
  const flags = [renew, listening].map((flag) => (flag ? '1' : '0'));
  return [session, `${ttl}`, `${incarnation}`, join, ...flags, ...operations.flatMap(wordsOf)];
}

const number = (text: unknown): number | undefined => (text === '' ? undefined : Number(text));

function grantOf([id, token, contended, extra]: unknown[]): Grant {
  return {
    id: id as string,
    token: Number(token),
    contended: Number(contended) === 1,
    extra: extra as string[],
  };
}

export function mapOf(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] as string, flat[i + 1] as string);
  return map;
}

export function requestsOf(flat: readonly string[]): Map<string, Request> {
  const requests = new Map<string, Request>();
  for (const [id, record] of mapOf(flat)) requests.set(id, JSON.parse(record) as Request);
  return requests;
}

function resultOf([name, ...rest]: unknown[]): Result {
  switch (name) {
    case 'held':
      return { name, grant: grantOf(rest) };
    case 'queued':
      return { name, left: number(rest[0]) ?? Number.POSITIVE_INFINITY };
    case 'number':
      return { name, value: Number(rest[0]) };
    case 'check':
      return { name, held: Number(rest[0]) === 1, contended: Number(rest[1]) === 1 };
    case 'renewed':
      return { name, next: number(rest[0]) };
    case 'query': {
      const locks = mapOf(rest[0] as string[]);
      locks.delete('');
      return { name, state: { locks, requests: requestsOf(rest[1] as string[]) } satisfies Query };
    }
    default:
      return { name: 'busy' };
  }
}

export function decodeReply(reply: unknown): Reply {
  const [name, left, now, results, grants] = reply as [Reply['name'], ...unknown[]];
  if (name !== 'done') return { name };
  return {
    name,
    left: Number(left),
    now: Number(now),
    results: (results as unknown[][]).map(resultOf),
    grants: (grants as unknown[][]).map(grantOf),
  };
}

export function encodeMessage(message: Message): string {
  switch (message.name) {
    case 'held': {
      const { id, token, contended, extra } = message.grant;
      return JSON.stringify(['held', id, `${token}`, contended ? 1 : 0, ...extra]);
    }
    case 'revoke':
      return JSON.stringify(['revoke', message.id]);
    case 'lost':
      return JSON.stringify(['lost']);
  }
}

export function decodeMessage(text: string): Message {
  const [name, id, token, contended, ...extra] = JSON.parse(text) as [string, ...unknown[]];
  if (name === 'held') return { name, grant: grantOf([id, token, contended, extra]) };
  if (name === 'revoke') return { name, id: id as string };
  return { name: 'lost' };
}
