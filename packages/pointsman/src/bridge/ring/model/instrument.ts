/**
 * Rewrites the source of `ring.ts` for the search: the same statements, with a yield before every operation on a shared
 * word. Every method becomes a generator.
 *
 * Invariant: source that these rules do not cover is an error. It is never explored in part.
 */

import { Memory } from '../memory.js';
import type { Shared } from './shared.js';
import type { ModelReader, ModelWriter } from './sides.js';

/** The ring's classes, rewritten to run on a {@link Shared}. */
export interface Instrumented {
  readonly RingWriter: new (...parameters: unknown[]) => ModelWriter;
  readonly RingReader: new (...parameters: unknown[]) => ModelReader;
}

const member = /^ {2}(?:async )?(?!(?:if|for|while|switch|constructor)\b)(#?\w+)\(.*\) \{$/;
const getter = /^ {2}get (#?\w+)\(\) \{$/;
const topLevel = /^function (\w+)\(/;
const declared = /^ {2}(#?\w+)(?: = .*)?;$/;

/** `text` is JavaScript as esbuild prints it, with an indentation of two spaces. */
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
    // The check would hide the effect of a faulty writer on the reader.
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
    // Constructors run before the threads start, so they do not yield.
    else if (constructing || !/^\s/.test(line)) {
      out.push(line.replaceAll('Atomics.load(', 'shared.initial(').replaceAll('Atomics', 'shared'));
    } else out.push(steps(line, getters, methods, functions));
    if (line === '  }') constructing = false;
  }
  const result = out.join('\n');
  const left = /\bAtomics\b|\bawait\b|\basync\s+[\w#(]/.exec(result);
  if (left) throw new Error(`"${left[0]}" was not rewritten`);
  const make = new Function(
    'shared',
    'Memory',
    `'use strict';\n${result}\nreturn { RingWriter, RingReader };`,
  );
  return make(shared, Memory) as Instrumented;
}

/** Puts `yield*` before each call that can yield. Throws if a call spans lines in an unsupported way. */
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
    // A call that continues on the next line must have no yielding arguments.
    if (close < 0) {
      if (!/^\s*$/.test(rest.slice(open)) || !/^\s*$/.test(rest.slice(0, begin))) {
        throw new Error(`unsupported line: ${line}`);
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

/** Returns the index of the parenthesis that closes the one before `from`, or -1. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  return -1;
}
