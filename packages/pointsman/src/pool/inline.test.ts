/** Functions written in place: what they use is found, and they do the same where they are rebuilt. */
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inline } from './inline.js';
import { check, freeVariables } from './inline-check.js';
import { Inline, rebuild } from './inline-rebuild.js';

/** Some runtimes make no code of text. */
const rebuilds = (() => {
  try {
    return new Function('return true')() as boolean;
  } catch {
    return false;
  }
})();

/** JavaScriptCore (WebKit, Bun) misses some names that are there and have yet to get their value. */
function findsNames(): boolean {
  const refusals = [
    [
      'try { throw {}; } catch ({ a: [d = (function (a = (function (a = $(() => d)) { var d = $(() => a); })()) {})()] = [] }) {}',
      1,
    ],
    [
      '(({ b, d: d = ((c) => (function (b = $(() => { d = 1; })) { const { [$(() => d)]: d } = {}; })())({}) }) => {})({})',
      2,
    ],
  ] as const;
  return refusals.every(([source, expected]) => {
    let refused = 0;
    const look = (inArrow: () => unknown): void => {
      try {
        inArrow();
      } catch {
        refused += 1;
      }
    };
    new Function('$', 'd', source)(look, 'the parameter of that name');
    return refused === expected;
  });
}

const freeOf = (source: string) => [...freeVariables(source).keys()].sort().join(' ');

/** What `inline` makes of a function, as the thread does it. */
function again<Args extends unknown[], Result>(
  fn: (...args: Args) => Result,
  captures?: Record<string, unknown>,
): (...args: Args) => Result {
  const { source, names, values } = inline(fn, captures);
  return rebuild(source, names, values) as never;
}

describe('free variables of', () => {
  test.for([
    // References.
    ['() => a', 'a'],
    ['() => a.b.c', 'a'],
    ['() => a[b]', 'a b'],
    ['() => a?.b?.[c]?.(d)', 'a c d'],
    ['() => a(b, ...c)', 'a b c'],
    ['() => new A(b)', 'A b'],
    [`() => \`x \${a} \${\`\${b}\`}\``, 'a b'],
    [`() => a\`x \${b}\``, 'a b'],
    ['() => ({ a, b: c, [d]: 1, ...e })', 'a c d e'],
    ['() => ({ a() { return b; }, get c() { return d; }, set c(e) { f = e; } })', 'b d f'],
    ['() => [a, , ...b]', 'a b'],
    ['() => a ? b : c', 'a b c'],
    ['() => a = b', 'a b'],
    ['() => a++', 'a'],
    ['() => { ({ a, b: c.d, [e]: f = g, ...h } = i); }', 'a c e f g h i'],
    ['() => { [a, b.c, d = e, ...f] = g; }', 'a b d e f g'],
    ['async () => await a', 'a'],
    ['function* () { yield a; yield* b; }', 'a b'],
    ['() => typeof a', 'a'],
    ['() => void a', 'a'],
    ['() => "a" + /b/.source + 1n', ''],
    ['() => import(a)', 'a'],
    ['() => (a, b)', 'a b'],
    // Parameters.
    ['(a) => a', ''],
    ['a => a', ''],
    ['(a, { b, c: d, ...e }, [f, [g]], ...h) => [a, b, d, e, f, g, h]', ''],
    ['({ c: d }) => c', 'c'],
    ['(a = b) => a', 'b'],
    ['(a, b = a) => b', ''],
    ['(a = b, b) => a', ''],
    ['({ a = b, [c]: d }) => [a, d]', 'b c'],
    ['({ [a]: b, a }) => b', ''],
    ['(a = () => b) => { var b; }', 'b'],
    ['(a = b) => { let b; return a; }', 'b'],
    ['(a) => { var a; return a; }', ''],
    // Declarations.
    ['() => { var a = 1; return a; }', ''],
    ['() => { a = 1; var a; }', ''],
    ['() => { { var a; } return a; }', ''],
    ['() => { { let a; } return a; }', 'a'],
    ['() => { { const a = 1; } return a; }', 'a'],
    ['() => { { function a() {} } return a; }', 'a'],
    ['() => { { class A {} } return A; }', 'A'],
    ['() => { return a(); function a() {} }', ''],
    ['() => { return () => a; let a; }', ''],
    ['() => { let { a, b: [c], ...d } = e; return [a, c, d]; }', 'e'],
    ['() => { let { b: a } = {}; return b; }', 'b'],
    ['() => { let a = a; }', ''],
    ['() => { let a = b, b; }', ''],
    ['() => { let x = 1; return () => { x; y; }; }', 'y'],
    ['() => { if (1) { var a; } else { var b; } return [a, b]; }', ''],
    ['() => { (() => { var a; })(); return a; }', 'a'],
    // Functions and their names.
    ['function a() { return a; }', ''],
    ['function () { return (function a() { return a; }, a); }', 'a'],
    ['() => { (function a(b) {}); return b; }', 'b'],
    ['function () { return arguments[0]; }', ''],
    ['function () { return () => arguments; }', ''],
    ['() => arguments', 'arguments'],
    ['(a = arguments) => a', 'arguments'],
    ['function () { return this; }', ''],
    ['function (a = () => this) { return a; }', ''],
    ['() => this', 'this'],
    ['() => () => this.a', 'this'],
    ['() => function () { return this; }', ''],
    ['() => ({ a() { return this; }, b: this })', 'this'],
    ['function () { return new.target; }', ''],
    // Loops, labels, switch, catch.
    ['() => { for (let a = 0; a < b; a++) c(a); }', 'b c'],
    ['() => { for (let a = 0; ; ) {} return a; }', 'a'],
    ['() => { for (var a = 0; ; ) {} return a; }', ''],
    ['() => { for (const a of b) c(a); a; }', 'a b c'],
    ['() => { for (const [a, { b = c }] of d) a(b); }', 'c d'],
    ['() => { for (var a in b) {} return a; }', 'b'],
    ['() => { for (a of b) {} }', 'a b'],
    ['() => { for (a.b in c) {} }', 'a c'],
    ['async () => { for await (const a of b) a(); }', 'b'],
    ['() => { a: for (;;) { break a; continue a; } }', ''],
    ['() => { a: for (;;) { if (a) break a; } }', 'a'],
    ['() => { while (a) b; do { c; } while (d); }', 'a b c d'],
    ['() => { switch (a) { case b: let c; default: c; } return c; }', 'a b c'],
    ['() => { switch (a) { case 1: let a; } }', 'a'],
    ['() => { try { a; } catch (b) { b; } finally { c; } b; }', 'a b c'],
    ['() => { try {} catch { b; } }', 'b'],
    ['() => { try {} catch ({ a, b = c }) { a; b; } }', 'c'],
    ['() => { try {} catch (a) { var b; } return b; }', ''],
    ['() => { if (a) throw b; return c; }', 'a b c'],
    // Classes.
    ['() => class A extends B {}', 'B'],
    ['() => class A { a() { return A; } }', ''],
    ['() => class { a = b; static c = d; [e] = 1; static [f]() {} }', 'b d e f'],
    ['() => class { a = this; static b = () => this; }', ''],
    ['() => class { [this.a] = 1; }', 'this'],
    ['() => class { static { var a; let b = this; a; b; c; } }', 'c'],
    ['() => { class A { static { var a; } } return a; }', 'a'],
    ['() => class { #a = b; has(c) { return #a in c && this.#a; } #d() {} }', 'b'],
    ['() => class extends A { constructor() { super(a); super.b(); } }', 'A a'],
    ['() => class A extends A {}', ''],
    ['() => { new A(); class A { constructor(a) { this.b = a; } } }', ''],
    ['() => class { get a() { return b; } set a(c) { d; } }', 'b d'],
    ['() => class { async *a() { yield b; } }', 'b'],
  ] as const)('%s', ([source, expected]) => {
    expect(freeOf(source)).toBe(expected);
  });

  test.runIf(rebuilds && findsNames())(
    'made-up functions are what is looked up when they run',
    () => {
      // Each reference is in an arrow that never throws, so that all of a program runs.
      const name = fc.constantFrom('a', 'b', 'c', 'd');
      const text = (parts: TemplateStringsArray, ...values: fc.Arbitrary<string>[]) =>
        fc.tuple(...values).map((all) => String.raw({ raw: parts }, ...all));
      const { program } = fc.letrec<Record<string, string>>((tie) => {
        const expression = tie('expression') as fc.Arbitrary<string>;
        const statements = tie('statements') as fc.Arbitrary<string>;
        const pattern = tie('pattern') as fc.Arbitrary<string>;
        return {
          expression: fc.oneof(
            { depthSize: 'small', withCrossShrink: true },
            text`$(() => ${name})`,
            text`$(() => ({ ${name} }))`,
            text`$(() => { ${name} = 1; })`,
            text`$(() => { ({ ${name}: ${name} } = {}); })`,
            text`({ ${name}: ${expression} })`,
            text`((${pattern}) => { ${statements} })({})`,
            text`((${pattern}) => ${expression})({})`,
            text`(function ${name}(${pattern}) { ${statements} })({})`,
            text`(function (${name} = ${expression}) { ${statements} })()`,
            text`class { static ${name} = ${expression}; static [${expression}] = 1; }`,
            text`class ${name} { static { ${statements} } }`,
            text`class ${name} extends (${expression}, Object) {}`,
          ),
          pattern: fc.oneof(
            { depthSize: 'small', withCrossShrink: true },
            name,
            text`{ ${name}, ${name}: ${name} = ${expression} }`,
            text`{ [${expression}]: ${name} }`,
            text`{ ${name}: [${name} = ${expression}] = [] }`,
          ),
          statement: fc.oneof(
            { depthSize: 'small', withCrossShrink: true },
            text`void (${expression});`,
            text`let ${name} = ${expression};`,
            text`var ${name} = ${expression};`,
            text`const ${pattern} = {};`,
            text`var ${pattern} = {};`,
            text`function ${name}() {}`,
            text`class ${name} { static { ${statements} } }`,
            text`{ ${statements} }`,
            text`${name}: { ${statements} }`,
            text`for (const ${pattern} of [{}]) { ${statements} }`,
            text`for (let ${name} = ${expression}; ; ) { ${statements} break; }`,
            text`for (var ${name} in { x: ${expression} }) { ${statements} }`,
            text`switch (${expression}) { default: ${statements} }`,
            text`try { throw {}; } catch (${pattern}) { ${statements} }`,
            text`try { throw {}; } catch { ${statements} }`,
          ),
          statements: fc
            .array(tie('statement') as fc.Arbitrary<string>, { maxLength: 3, depthIdentifier: 's' })
            .map((all) => all.join(' ')),
          program: text`(${pattern}) => { ${statements} ${statements} }`,
        };
      });
      const lookedUp = (source: string): string => {
        const found = new Set<string>();
        const surroundings = new Proxy(
          {},
          {
            has: (_, key) => typeof key === 'string' && /^[a-d]$/.test(key) && !!found.add(key),
            get: (_, key) => (key === Symbol.unscopables ? undefined : 1),
            set: () => true,
          },
        );
        const attempt = (read: () => unknown) => {
          try {
            return read();
          } catch {
            return undefined;
          }
        };
        const run = new Function(
          'surroundings',
          '$',
          `with (surroundings) { return (function () { 'use strict'; return (${source})({}); })(); }`,
        );
        run(surroundings, attempt);
        return [...found].sort().join(' ');
      };
      let compared = 0;
      fc.assert(
        fc.property(program as fc.Arbitrary<string>, (source) => {
          // Not all is valid; some declare a name twice. Engines and the parser need not agree on that.
          try {
            new Function(`'use strict'; (${source})`);
            freeVariables(source);
          } catch {
            return;
          }
          compared += 1;
          const free = freeOf(source)
            .replaceAll(/\$ ?|Object ?/g, '')
            .trim();
          expect(free).toBe(lookedUp(source));
        }),
        { numRuns: 1500 },
      );
      expect(compared).toBeGreaterThan(300);
    },
  );
});

describe('a function that cannot be sent', () => {
  // Bun writes a constant in place of its name.
  const factor = Number('3');
  const others = { sum: 0 };

  test.for([
    [
      'uses a name',
      () => inline((n: number) => n * factor),
      'inline: the function uses "factor" (line 1), which is not among its captures: pass it as inline(fn, { factor })',
    ],
    [
      'uses several, on some line',
      () =>
        inline(
          (n: number) => {
            const twice = n * 2;
            others.sum += twice * factor;
          },
          { factor },
        ),
      'inline: the function uses "others" (line 3), which is not among its captures: pass it as inline(fn, { factor, others })',
    ],
    ['is native', () => inline(Math.max), 'native or bound'],
    ['is bound', () => inline(((n: number) => n).bind(null)), 'native or bound'],
    ['is a class', () => inline(class {} as never), 'a class cannot be run'],
    ['is none', () => inline('() => 1' as never), 'fn must be a function, got "() => 1"'],
    [
      'has captures that are none',
      () => inline(() => 1, 5 as never),
      'captures must be an object, got 5',
    ],
  ] as const)('it %s', ([, make, message]) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  test.for([
    ['() => this.a', '"this" (line 1) of its surroundings'],
    ['() => arguments[0]', '"arguments" (line 1) of its surroundings'],
    ['() => eval("a")', '"eval" (line 1)'],
    ['() => super.a', "line 1: 'super' keyword outside a method"],
    ['a() {\n  return super.a();\n}', "line 2: 'super' keyword outside a method"],
    ['() => new.target', "line 1: 'new.target' can only be used in functions"],
    ['() => import.meta.url', "line 1: Cannot use 'import.meta' outside a module"],
    ['a() { return this.#b; }', "line 1: Private field '#b' must be declared"],
    ['() => 010', 'line 1: '],
    ['() => import("./a.js")', 'imports "./a.js" (line 1)'],
    [`() => import(\`../\${1}.js\`)`, 'imports "../" (line 1)'],
    ['() => __awaiter()', 'pass it as inline(fn, { __awaiter }), or, if a compiler'],
    ['() => { cov_1x().f[0]++; }', 'pass it as inline(fn, { cov_1x }), or, if a compiler'],
  ] as const)('%s', ([source, message]) => {
    expect(() => check(source, [])).toThrow(TypeError);
    expect(() => check(source, [])).toThrow(message);
  });

  test('a name that was changed is recognised by a capture without use', () => {
    expect(() => check('(n) => n * t', ['factor'])).toThrow('renamed "factor" to that');
  });

  test('this, arguments and eval cannot be captured', () => {
    for (const name of ['this', 'arguments', 'eval']) {
      expect(() => check(`() => ${name}`, [name])).toThrow(`uses "${name}"`);
    }
  });
});

describe('what need not be captured', () => {
  test.for([
    '() => [Math, globalThis, undefined, NaN, console, setTimeout, structuredClone]',
    '() => typeof missing',
    '() => import("node:fs")',
    '() => import("https://example.com/a.js")',
    '() => import("/a.js")',
    '(name) => import(name)',
  ])('%s', (source) => {
    expect(check(source, [])).toBe(source);
  });

  test('what is asked for by typeof may be a capture, and must be one if it is used too', () => {
    expect(check('() => typeof a', ['a'])).toBe('() => typeof a');
    expect(() => check('() => typeof a === "number" && a', [])).toThrow('uses "a"');
  });
});

describe('on a page', () => {
  /** Until the end of the test, unless this is a page. */
  function provide(name: string): void {
    if (name in globalThis) return;
    Object.defineProperty(globalThis, name, { value: {}, configurable: true });
    onTestFinished(() => {
      Reflect.deleteProperty(globalThis, name);
    });
  }

  test('what its workers do not have is refused, unless it is a capture', () => {
    provide('localStorage');
    if (!('document' in globalThis)) {
      expect(check('() => localStorage.a', [])).toBe('() => localStorage.a');
    }
    provide('document');
    for (const name of ['document', 'localStorage']) {
      expect(() => check(`() => ${name}.a`, [])).toThrow(
        `uses "${name}" (line 1), which exists on a page and not in its workers`,
      );
      expect(check(`() => ${name}.a`, [name])).toBe(`() => ${name}.a`);
    }
  });
});

describe('an inline function', () => {
  test('has an id of its own, its source and its captures', () => {
    const captures = { b: 1, a: [2] };
    const made = inline(() => captures.a, { captures });
    expect(made).toBeInstanceOf(Inline);
    expect([made.names, made.values]).toEqual([['captures'], [captures]]);
    expect(made.values[0]).toBe(captures);
    expect(made.source).toContain('captures.a');
    expect(inline(() => 1).id).not.toBe(made.id);
  });

  test('has the types of the function', () => {
    const repeat = async (a: number, b: string) => b.repeat(a);
    const made: Inline<typeof repeat> = inline(repeat);
    // @ts-expect-error: it takes a number first
    const other: Inline<(a: string, b: string) => Promise<string>> = made;
    expect(other).toBe(made);
  });
});

describe.runIf(rebuilds)('rebuilt', () => {
  test('a function need not use its captures: a compiler may have replaced a name by its constant', () => {
    const factor = 3;
    expect(again((n: number) => n * 3, { factor })(14)).toBe(42);
  });

  test('functions of every kind do the same', async () => {
    expect(again((a: number, b: number = 2) => a * b)(3)).toBe(6);
    expect(
      again(function fibonacci(n: number): number {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
      })(10),
    ).toBe(55);
    expect(await again(async (a: number) => (await a) + 1)(1)).toBe(2);
    const generated = again(function* (n: number) {
      for (let index = 0; index < n; index += 1) yield index;
    });
    expect([...generated(3)]).toEqual([0, 1, 2]);
    const stream = again(async function* (n: number) {
      yield n;
      yield n + 1;
    });
    const values: number[] = [];
    for await (const value of stream(1)) values.push(value);
    expect(values).toEqual([1, 2]);
  });

  test('methods of every kind do the same', async () => {
    const key = 'computed';
    const holder = {
      plain(a: number) {
        return a + 1;
      },
      async later(a: number) {
        return (await a) + 2;
      },
      *each(a: number) {
        yield a + 3;
      },
      async *stream(a: number) {
        yield (await a) + 4;
      },
      [key](a: number) {
        return a + 5;
      },
      'a (name)'(a: number) {
        return a + 6;
      },
      async(a: number) {
        return a + 7;
      },
      get(a: number) {
        return a + 8;
      },
      function(a: number) {
        return a + 9;
      },
      get value() {
        return 10;
      },
      constructor(a: number) {
        return a + 11;
      },
    };
    const getter = Object.getOwnPropertyDescriptor(holder, 'value')?.get as () => number;
    expect(again(holder.plain)(0)).toBe(1);
    expect(await again(holder.later)(0)).toBe(2);
    expect([...again(holder.each)(0)]).toEqual([3]);
    expect(await again(holder.stream)(0).next()).toEqual({ value: 4, done: false });
    expect(again(holder[key])(0)).toBe(5);
    expect(again(holder['a (name)'])(0)).toBe(6);
    expect(again(holder.async)(0)).toBe(7);
    expect(again(holder.get)(0)).toBe(8);
    expect(again(holder.function)(0)).toBe(9);
    expect(again(getter)()).toBe(10);
    expect(again(holder.constructor)(0)).toBe(11);
    class Holder {
      static make(a: number) {
        return a + 12;
      }
      field = (a: number) => a + 13;
    }
    expect(again(Holder.make)(0)).toBe(12);
    expect(again(new Holder().field)(0)).toBe(13);
  });

  test('they have their captures', () => {
    const priceFactor = Number('3');
    const pricesByName = new Map([['a', 1]]);
    const fn = (name: string) => (pricesByName.get(name) ?? 0) * priceFactor;
    expect(again(fn, { priceFactor, pricesByName })('a')).toBe(3);
    const undefinedToo = undefined;
    expect(again(() => undefinedToo, { undefinedToo })()).toBe(undefined);
    expect(rebuild('() => performance', ['performance'], ['mine'])()).toBe('mine');
  });

  test('they are strict and have no this', () => {
    expect(
      again(function (this: void) {
        return this;
      })(),
    ).toBe(undefined);
    const write = again(() => {
      (Object.freeze([]) as unknown as unknown[]).length = 1;
    });
    expect(write).toThrow(TypeError);
  });
});
