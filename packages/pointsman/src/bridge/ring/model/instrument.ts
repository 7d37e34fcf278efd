/**
 * Makes the text of `ring.ts` into one that can be explored: the same statements, with a place to stop
 * before every operation on a shared word. What stops is a generator, so every method becomes one.
 *
 * Invariant: a text that these rules do not understand is an error. It is never explored in part.
 */

import { Memory } from '../memory.js';
import type { Shared } from './shared.js';
import type { ModelReader, ModelWriter } from './ways.js';

/** The ring of one text, to be run on `shared`. */
export interface Instrumented {
  readonly RingWriter: new (...parameters: unknown[]) => ModelWriter;
  readonly RingReader: new (...parameters: unknown[]) => ModelReader;
}

const member = /^ {2}(?:async )?(?!(?:if|for|while|switch|constructor)\b)(#?\w+)\(.*\) \{$/;
const getter = /^ {2}get (#?\w+)\(\) \{$/;
const topLevel = /^function (\w+)\(/;
const declared = /^ {2}(#?\w+)(?: = .*)?;$/;

/** `text` is JavaScript as a compiler prints it: two spaces, one member of a class after the other. */
export function instrument(text: string, shared: Shared): Instrumented {
  const lines = text
    .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .replace(/^import .*$/gm, '')
    .replace(/^export \{[^}]*\};?$/gm, '')
    .replace(/^export /gm, '')
    .replace(/new Promise\(\(\) => \{\s*\}\)/g, 'new Promise(() => {})')
    .split('\n');
  const named = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  const [methods, getters, functions] = [named(member), named(getter), named(topLevel)];
  const out: string[] = [];
  let fields: string[] | undefined;
  let constructing = false;
  for (const line of lines) {
    if (line.startsWith('class ')) fields = [];
    if (/^ {2}constructor\(/.test(line)) constructing = true;
    // The check would hide what a reader sees of a writer with a bug.
    if (line.trimStart().startsWith('this.#check(')) continue;
    const field = declared.exec(line)?.[1];
    if (fields && field) fields.push(field);
    if (line === '}' && fields) {
      out.push(`  fields() { return [${fields.map((name) => `this.${name}`).join(', ')}]; }`);
      fields = undefined;
    }
    if (topLevel.test(line)) out.push(line.replace('function', 'function*'));
    else if (getter.test(line)) out.push(line.replace('get ', '*'));
    else if (fields && member.test(line)) out.push(line.replace(/^ {2}(?:async )?/, '  *'));
    // Before the threads run, nothing stops.
    else if (constructing || !/^\s/.test(line)) {
      out.push(line.replaceAll('Atomics.load(', 'shared.initial(').replaceAll('Atomics', 'shared'));
    } else out.push(steps(line, getters, methods, functions));
    if (line === '  }') constructing = false;
  }
  const result = out.join('\n');
  const left = /\bAtomics\b|\bawait\b|\basync\s+[\w#(]/.exec(result);
  if (left) throw new Error(`"${left[0]}" is left in what was to be explored`);
  const make = new Function(
    'shared',
    'Memory',
    `'use strict';\n${result}\nreturn { RingWriter, RingReader };`,
  );
  return make(shared, Memory) as Instrumented;
}

/** Puts `yield*` before all that can stop. A call ends on the line on which it begins, or is an error. */
function steps(
  line: string,
  getters: readonly string[],
  methods: readonly string[],
  functions: readonly string[],
): string {
  const own = methods.map((name) => `this\\.${name}\\(`);
  const calls = [
    ...own,
    'Atomics\\.\\w+\\(',
    'waitAsync\\(',
    ...functions.map((name) => `${name}\\(`),
  ];
  const pattern = new RegExp(`(?<![\\w.#])(?:${calls.join('|')})`);
  const awaited = /\bawait (.*);$/;
  const waits = awaited.exec(line);
  if (waits) {
    const value = steps(waits[1] as string, getters, methods, functions);
    return line.replace(awaited, () => `yield* shared.settled(${value});`);
  }
  let rest = line;
  let done = '';
  for (;;) {
    const found = pattern.exec(rest);
    if (!found) break;
    const begin = found.index;
    const open = begin + found[0].length;
    const close = closing(rest, open);
    const call = rest.slice(begin, open).replace(/^Atomics\./, 'shared.');
    // The arguments of a call that goes on in the next line hold nothing that can stop.
    if (close < 0) {
      if (!/^\s*$/.test(rest.slice(open)) || !/^\s*$/.test(rest.slice(0, begin))) {
        throw new Error(`cannot be explored: ${line}`);
      }
      return `${done}${rest.slice(0, begin)}yield* ${call}`;
    }
    const inside = steps(rest.slice(open, close), getters, methods, functions);
    done += `${rest.slice(0, begin)}(yield* ${call}${inside}))`;
    rest = rest.slice(close + 1);
  }
  const accesses = new RegExp(`(?<![\\w.#])this\\.(${getters.join('|')})\\b(?!\\()`, 'g');
  return (done + rest).replace(accesses, '(yield* this.$1())');
}

/** Where the parenthesis ends that was opened before `from`; -1 if not in this text. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  return -1;
}
