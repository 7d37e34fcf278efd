/**
 * The protocol as Redis carries it: operations as the arguments of the script, answers as its reply.
 *
 * Invariants: numbers that exceed what JSON or a 32-bit client keeps travel as decimal text; names that
 * may contain anything are arguments of their own, or JSON.
 *
 * Each argument and each item of a reply costs time on the way. So what stands together in a batch or in
 * an operation is one argument, and a reply is one text.
 */

import { createHash } from 'node:crypto';
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

const flag = (set: boolean): string => (set ? '1' : '0');

/** An operation: its name and its numbers and ids in one word, then its names. */
function wordsOf(operation: Operation): readonly string[] {
  switch (operation.name) {
    case 'lock': {
      const { id, tokens, wait, keys, optional } = operation;
      const sizes = `${keys.length} ${optional.length}`;
      return [`lock ${id} ${sizes} ${tokens} ${flag(wait)}`, ...keys, ...optional];
    }
    case 'unlock':
    case 'check':
      return [`${operation.name} ${operation.id} ${operation.keys.length}`, ...operation.keys];
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

export function encodeBatch(batch: Batch): string[] {
  const { session, ttl, incarnation, join, time = 0, run = '-', secret } = batch;
  const { operations } = batch;
  const renew = operations.some(({ name }) => name === 'renew');
  const words = [
    `${session} ${ttl} ${incarnation} ${join} ${flag(renew)} ${time} ${run} ${secret}`,
  ];
  for (const operation of operations) words.push(...wordsOf(operation));
  return words;
}

const number = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

/** `<request> <token> <contended>`, and the optional keys in JSON if there are any. */
function grantOf(line: string): Grant {
  const json = line.indexOf('[');
  const words = (json < 0 ? line : line.slice(0, json)).split(' ');
  return {
    id: words[0] as string,
    token: Number(words[1]),
    contended: words[2] === '1',
    extra: json < 0 ? [] : (JSON.parse(line.slice(json)) as string[]),
  };
}

export function mapOf(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] as string, flat[i + 1] as string);
  return map;
}

function requestsOf(flat: readonly string[]): Map<string, Request> {
  const requests = new Map<string, Request>();
  for (const [id, record] of mapOf(flat)) requests.set(id, JSON.parse(record) as Request);
  return requests;
}

/** The maps as JSON: an empty one is an object to Lua. */
const listIn = (json: unknown): readonly string[] => (Array.isArray(json) ? json : []);

function resultOf(line: string): Result {
  const words = line.split(' ');
  const name = words[0] as Result['name'];
  switch (name) {
    case 'held':
      return { name, grant: grantOf(line.slice(name.length + 1)) };
    case 'queued':
      return { name, left: number(words[1]) ?? Number.POSITIVE_INFINITY };
    case 'number':
      return { name, value: Number(words[1]) };
    case 'check':
      return { name, held: words[1] === '1', contended: words[2] === '1' };
    case 'renewed':
      return { name, next: number(words[1]) };
    case 'query': {
      const [flatLocks, flatRequests] = JSON.parse(line.slice(name.length + 1)) as unknown[];
      const locks = mapOf(listIn(flatLocks));
      return { name, state: { locks, requests: requestsOf(listIn(flatRequests)) } satisfies Query };
    }
    case 'busy':
      return { name };
  }
}

/** A line for the batch, one for each operation, and one for each request granted meanwhile. */
export function decodeReply(reply: string): Reply {
  const lines = reply.split('\n');
  const words = (lines[0] as string).split(' ');
  const name = words[0] as Reply['name'];
  if (name !== 'done') return { name };
  const results = 1 + Number(words[3]);
  return {
    name,
    left: Number(words[1]),
    time: Number(words[2]),
    results: lines.slice(1, results).map(resultOf),
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

export function decodeMessage(text: string): Message {
  const [name, id, token, contended, ...extra] = JSON.parse(text) as [string, ...unknown[]];
  if (name === 'revoke') return { name, id: id as string };
  if (name === 'taken') return { name, id: id as string, token: Number(token) };
  if (name === 'held') {
    const grant = { id: id as string, token: Number(token), contended: contended === 1 };
    return { name, grant: { ...grant, extra: extra as string[] } };
  }
  return { name: 'lost' };
}

/** The length of a signature, in characters. */
const SIGNED = 40;

const signatureOf = (text: string, secret: string): string =>
  createHash('sha1').update(`${secret}${text}${secret}`).digest('hex');

/** A message as it is published in the channel of a process: its signature, then its JSON. */
export function signMessage(message: Message, secret: string): string {
  const text = encodeMessage(message);
  return signatureOf(text, secret) + text;
}

const lost = encodeMessage({ name: 'lost' });

/**
 * The message in a text from a channel, or undefined if the server has not signed it for this session. Any client that
 * may publish can put a text into a channel, and any that may subscribe can read what is there. The loss of the state is
 * announced to all sessions, unsigned: a session that hears of it only asks the server.
 */
export function openMessage(text: string, secret: string): Message | undefined {
  if (text === lost) return { name: 'lost' };
  const message = text.slice(SIGNED);
  return text.slice(0, SIGNED) === signatureOf(message, secret)
    ? decodeMessage(message)
    : undefined;
}
