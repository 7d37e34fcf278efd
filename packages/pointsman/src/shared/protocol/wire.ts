/**
 * The wire format: operations as arguments of the script, and its reply.
 *
 * Invariants:
 * - Numbers that exceed JSON in Lua or a 32-bit integer travel as decimal text. Names that may contain any character are
 *   separate arguments, or JSON.
 * - Any client with write access can store or publish any text. Text without the expected shape is never interpreted: a
 *   message is dropped; a reply or a record throws a {@link MalformedError}, which rejects only the operations of that
 *   batch.
 *
 * Each argument and each item of a reply costs time, so the fields of a batch or an operation share one argument, and a
 * reply is one text.
 */

import { createHash } from 'node:crypto';
import { isOfCounters } from './counters.js';
import { MalformedError, parse } from './malformed.js';
import type {
  Batch,
  Grant,
  Hold,
  Message,
  Operation,
  Query,
  Reply,
  Request,
  Result,
} from './protocol.js';
import { numberOf, startArguments, startResultOf } from './starts-wire.js';

const flag = (set: boolean): string => (set ? '1' : '0');

/**
 * Encodes an operation: one argument for its name, numbers and ids, then its keys and its condition. Numbers the records
 * that are new in the batch.
 */
function argumentsOf(operation: Operation, records: Map<string, number>): readonly string[] {
  switch (operation.name) {
    case 'start':
    case 'correct':
    case 'penalize':
      return startArguments(operation, records);
    case 'count': {
      const { counter, by, window, above, growth } = operation;
      return [`count ${numberOf(counter, records)} ${by} ${window} ${above} ${growth}`];
    }
    case 'forget':
      return [`forget ${numberOf(operation.counter, records)}`];
    case 'lock': {
      const { id, tokens, wait, keys, optional, share } = operation;
      if (share !== undefined) {
        const { weight, limit } = share;
        const numbers = `${keys.length} ${weight} ${limit} ${tokens} ${flag(wait)}`;
        return [`share ${id} ${numbers}`, ...keys];
      }
      const sizes = `${keys.length} ${optional.length}`;
      return [`lock ${id} ${sizes} ${tokens} ${flag(wait)}`, ...keys, ...optional];
    }
    case 'unlock':
    case 'check':
    case 'downgrade':
      return [`${operation.name} ${operation.id} ${operation.keys.length}`, ...operation.keys];
    case 'limit':
      return [`limit ${operation.limit}`, operation.key];
    case 'take': {
      const { id, token, keys } = operation;
      return [`take ${id} ${token} ${keys.length}`, ...keys];
    }
    case 'wait': {
      const { id, condition, keys } = operation;
      return [`wait ${id} ${keys.length}`, ...keys, condition];
    }
    case 'wake':
      return [`wake ${operation.id}`];
    case 'notify':
      return [`notify ${operation.count}`, operation.condition];
    case 'reserve':
      return [`reserve ${operation.tokens}`];
    case 'leave':
      return [`leave ${operation.session}`];
    case 'renew':
    case 'query':
      return [operation.name];
  }
}

/**
 * `records` receives the limiters or counters of the batch with their numbers, from 1 on, in the order in which they are
 * keys.
 */
export function encodeBatch(batch: Batch, records = new Map<string, number>()): string[] {
  if (batch.join === 'none') {
    const words = [isOfCounters(batch) ? '#' : '-'];
    for (const operation of batch.operations) words.push(...argumentsOf(operation, records));
    return words;
  }
  const { session, ttl, incarnation, join, time = 0, run = '-', secret } = batch;
  const { operations } = batch;
  const renew = operations.some(({ name }) => name === 'renew');
  const identity = `${incarnation} ${ttl} ${secret}`;
  const words = [`${session} ${time} ${flag(renew)} ${join} ${run} ${identity}`];
  for (const operation of operations) words.push(...argumentsOf(operation, records));
  return words;
}

function parseJson(what: string, text: unknown): unknown {
  try {
    return JSON.parse(text as string);
  } catch {
    throw new MalformedError(what, text);
  }
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Returns a token, or undefined if the text is not a positive safe integer. */
function tokenOf(text: unknown): number | undefined {
  const token = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : 0;
  return token > 0 && Number.isSafeInteger(token) ? token : undefined;
}

const reply = 'the reply of the server';
/** Fields are separated by spaces: a process name may contain any character but spaces and slashes. */
const grantPattern = /^(\S+) (\d+) ([01])(\[.*\])?$/;

/** Decodes `<request> <token> <contended><optional keys in JSON>`. */
function grantOf(line: string): Grant {
  const [, id = '', digits, contended, json] = parse(reply, line, grantPattern);
  const token = tokenOf(digits);
  const extra = json === undefined ? [] : parseJson(reply, json);
  if (token === undefined || !isStrings(extra)) throw new MalformedError(reply, line);
  return { id, token, contended: contended === '1', extra };
}

export function mapOf(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] as string, flat[i + 1] as string);
  return map;
}

function isRequest(value: unknown): value is Request {
  const request = Object(value) as Partial<Request>;
  const { order, tokens, keys, optional, share, condition, notified } = request;
  return (
    typeof order === 'string' &&
    /^\d{1,16}$/.test(order) &&
    Number.isSafeInteger(tokens) &&
    isStrings(keys) &&
    keys.length > 0 &&
    (optional === undefined || isStrings(optional)) &&
    (share === undefined || (share.weight > 0 && share.limit >= 0)) &&
    (condition === undefined || typeof condition === 'string') &&
    (notified === undefined || typeof notified === 'string')
  );
}

export function requestOf(id: string, record: string): Request {
  const request = parseJson(`the record of ${id}`, record);
  if (!isRequest(request)) throw new MalformedError(`the record of ${id}`, record);
  return request;
}

export function requestsOf(flat: readonly string[]): Map<string, Request> {
  const requests = new Map<string, Request>();
  for (const [id, record] of mapOf(flat)) requests.set(id, requestOf(id, record));
  return requests;
}

/** Accepts an empty object, because Lua encodes an empty list as one. */
function listIn(json: unknown): readonly string[] {
  if (isStrings(json)) return json;
  if (Object(json) === json && Object.keys(json as object).length === 0) return [];
  throw new MalformedError(reply, json);
}

function queryOf(json: string): Query {
  const maps = parseJson(reply, json);
  if (!Array.isArray(maps) || maps.length !== 2) throw new MalformedError(reply, json);
  const locks = [...mapOf(listIn(maps[0]))];
  return {
    locks: new Map(locks.map(([key, record]) => [key, holdsOf(key, record)])),
    requests: requestsOf(listIn(maps[1])),
  };
}

/** `<request> <token>`, or `=` and ` <request> <token> <weight>` of each request that shares the key. */
const lockPattern = /^(?:(\S+\/\d+~?) (\d+)|=( \S+\/\d+~? \d+ \d+)+)$/;

/** Reads the record of a held key. */
export function holdsOf(key: string, record: string): Hold[] {
  const [, alone, token] = parse(`the record of the lock ${key}`, record, lockPattern);
  if (alone !== undefined) return [{ id: alone, token: Number(token), weight: 0 }];
  const words = record.split(' ').slice(1);
  const holds: Hold[] = [];
  for (let i = 0; i < words.length; i += 3) {
    const [id = '', ...numbers] = words.slice(i, i + 3);
    const [token = 0, weight = 0] = numbers.map(Number);
    holds.push({ id, token, weight });
  }
  return holds;
}

/** The record of a key that requests share. */
export const sharedRecordOf = (holds: readonly Hold[]): string =>
  `=${holds.map(({ id, token, weight }) => ` ${id} ${token} ${weight}`).join('')}`;

const resultNames: Record<Operation['name'], readonly string[]> = {
  lock: ['held', 'queued', 'busy'],
  unlock: ['number'],
  take: ['number'],
  downgrade: ['number'],
  limit: ['number'],
  check: ['check'],
  wait: ['number'],
  wake: ['number'],
  notify: ['number'],
  reserve: ['number'],
  leave: ['number'],
  renew: ['renewed'],
  query: ['query'],
  start: ['start'],
  correct: ['number'],
  penalize: ['number'],
  count: ['count'],
  forget: ['number'],
};

const numberPattern = /^\w+(?: (-?\d+(?:\.\d+)?))?$/;

function resultOf(line: string, operation: Operation | undefined): Result {
  if (operation?.name === 'start') return startResultOf(line, operation.groups);
  const space = line.indexOf(' ');
  const name = (space < 0 ? line : line.slice(0, space)) as Exclude<Result['name'], 'start'>;
  if (operation === undefined || !resultNames[operation.name].includes(name)) {
    throw new MalformedError(reply, line);
  }
  const rest = line.slice(name.length + 1);
  switch (name) {
    case 'held': {
      const grant = grantOf(rest);
      if (grant.id !== (operation as { id: string }).id) throw new MalformedError(reply, line);
      return { name, grant };
    }
    case 'query':
      return { name, state: queryOf(rest) };
    case 'check': {
      const [, held, contended] = parse(reply, rest, /^([01]) ([01])$/);
      return { name, held: held === '1', contended: contended === '1' };
    }
    case 'busy':
      return { name };
    case 'count': {
      const [, total, left] = parse(reply, rest, /^(\d+) (\d+)$/);
      return { name, total: Number(total), left: Number(left) };
    }
    default: {
      const [, digits] = parse(reply, line, numberPattern);
      const value = digits === undefined ? undefined : Number(digits);
      if (name === 'queued') return { name, left: value ?? Number.POSITIVE_INFINITY };
      if (name === 'renewed') return { name, next: value };
      if (value === undefined) throw new MalformedError(reply, line);
      return { name, value };
    }
  }
}

/**
 * Decodes a reply: a line for the batch, one for each operation, and one for each request granted meanwhile.
 *
 * @throws {MalformedError} if the text is not a reply to these operations.
 */
export function decodeReply(text: unknown, operations: readonly Operation[]): Reply {
  if (text === 'lost' || text === 'stale') return { name: text };
  const lines = typeof text === 'string' ? text.split('\n') : [];
  const [, left, time, count] = parse(reply, lines[0], /^done (\d+(?:\.\d+)?) (\d+) (\d+)$/);
  const results = 1 + operations.length;
  if (Number(count) !== operations.length || lines.length < results) {
    throw new MalformedError(reply, text);
  }
  return {
    name: 'done',
    left: Number(left),
    time: Number(time),
    results: lines.slice(1, results).map((line, i) => resultOf(line, operations[i])),
    grants: lines.slice(results).map(grantOf),
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
    case 'taken':
      return JSON.stringify(['taken', message.id, `${message.token}`]);
    case 'lost':
      return JSON.stringify(['lost']);
  }
}

/** Returns undefined if the text is not a message. */
export function decodeMessage(text: string): Message | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(message)) return undefined;
  const [name, id, digits, contended, ...extra] = message as unknown[];
  if (name === 'lost') return { name };
  if (typeof id !== 'string') return undefined;
  if (name === 'revoke') return { name, id };
  const token = tokenOf(digits);
  if (token === undefined) return undefined;
  if (name === 'taken') return { name, id, token };
  if (name !== 'held' || (contended !== 0 && contended !== 1) || !isStrings(extra))
    return undefined;
  return { name, grant: { id, token, contended: contended === 1, extra } };
}

const SIGNED = 40;

const signatureOf = (text: string, secret: string): string =>
  createHash('sha1').update(`${secret}${text}${secret}`).digest('hex');

/** Encodes a message for the channel of a process: its signature, then its JSON. */
export function signMessage(message: Message, secret: string): string {
  const text = encodeMessage(message);
  return signatureOf(text, secret) + text;
}

const lost = encodeMessage({ name: 'lost' });

/**
 * Returns the message in a text from a channel, or undefined if the server has not signed it for this session. Clients
 * with the right to publish can send any text, and those with the right to subscribe can read it. A loss of the state is
 * announced to all sessions without a signature; a session that receives it only asks the server.
 */
export function openMessage(text: string, secret: string): Message | undefined {
  if (text === lost) return { name: 'lost' };
  const message = text.slice(SIGNED);
  return text.slice(0, SIGNED) === signatureOf(message, secret)
    ? decodeMessage(message)
    : undefined;
}
