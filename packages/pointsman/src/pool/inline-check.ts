/**
 * What a function uses of its surroundings, found in its source.
 *
 * Invariant: a name is free exactly if the language would look it up outside of the function. Scopes are
 * those of strict code. `this` and `arguments` are names too, which every function declares that is not
 * an arrow.
 */

import { type AnyNode, type Expression, getLineInfo, type Node, type Program, parse } from 'acorn';

/** A name that is looked up outside, with the line of its first use. */
interface FreeVariable {
  readonly line: number;
  /** False if it is only asked for by `typeof`, which does not need it to exist. */
  needed: boolean;
}

const strict = "'use strict';";

/** What a page has and a worker has not. */
const onlyOnPages = new Set(
  `alert confirm customElements document DOMParser Element frameElement frames getComputedStyle
  getSelection history HTMLElement Image innerHeight innerWidth localStorage matchMedia Node opener parent
  print prompt screen scrollTo sessionStorage top visualViewport window XMLSerializer`.split(/\s+/),
);

/** How the names begin that compilers and coverage tools put into functions. */
const helper = /^(__|_[a-z]|cov_)/;

/**
 * The source of a function as an expression that can be evaluated anywhere. Throws unless all that it
 * uses is declared in it, global, or one of these names. It need not use all of these: compilers such as Bun's
 * replace the name of a constant by its value.
 */
export function check(source: string, names: readonly string[]): string {
  const expression = expressionOf(source);
  const free = freeVariables(expression);
  const missing: [name: string, line: number][] = [];
  for (const [name, { line, needed }] of free) {
    refuseUncapturable(name, line);
    if (!needed || names.includes(name)) continue;
    if (!(name in globalThis)) missing.push([name, line]);
    else if ('document' in globalThis && onlyOnPages.has(name)) {
      throw new TypeError(
        `inline: the function uses ${quote(name, line)}, which exists on a page and not in its workers: read what it needs before, and pass that`,
      );
    }
  }
  const [first] = missing;
  const unused = names.find((name) => !free.has(name));
  if (first !== undefined) {
    const all = [...names, ...missing.map(([name]) => name)].join(', ');
    let otherwise = '';
    if (helper.test(first[0])) {
      otherwise =
        ', or, if a compiler or a coverage tool has put it there, have it leave the function as it is';
    } else if (unused !== undefined) {
      otherwise = `, or, if a bundler has renamed "${unused}" to that, pass the value as an argument`;
    }
    throw new TypeError(
      `inline: the function uses ${quote(...first)}, which is not among its captures: pass it as inline(fn, { ${all} })${otherwise}`,
    );
  }
  return expression;
}

const quote = (name: string, line: number) => `"${name}" (line ${line})`;

function refuseUncapturable(name: string, line: number): void {
  if (name === 'this' || name === 'arguments') {
    throw new TypeError(
      `inline: the function uses ${quote(name, line)} of its surroundings: pass what it needs as an argument or a capture`,
    );
  }
  if (name === 'eval') {
    throw new TypeError(
      `inline: the function uses ${quote(name, line)}, and what that uses cannot be found: use globalThis.eval, which sees globals only`,
    );
  }
}

/** Methods become functions without a name, since the name of a method is not in its scope. */
function expressionOf(source: string): string {
  if (/\{\s*\[native code\]\s*\}$/.test(source)) {
    throw new TypeError(
      'inline: the function is native or bound and has no source: wrap it in one',
    );
  }
  const plain = tryParse(`(${source})`);
  if (plain?.type === 'ClassExpression') {
    throw new TypeError('inline: a class cannot be run: wrap it in a function');
  }
  if (plain !== undefined) return source;
  const wrapper = '(class {';
  const holder = tryParse(`${wrapper}${source}})`);
  const method = holder?.type === 'ClassExpression' ? holder.body.body[0] : undefined;
  if (method?.type !== 'MethodDefinition') return source;
  const { async, generator, start } = method.value;
  const rest = source.slice(start - wrapper.length);
  return `${async ? 'async ' : ''}function${generator ? '*' : ''} ${rest}`;
}

/** The expression. What is wrong with it is said later, so unknown private names are let pass. */
function tryParse(text: string): Expression | undefined {
  try {
    const program = parse(text, { ecmaVersion: 'latest', checkPrivateFields: false });
    const [statement] = program.body;
    return statement?.type === 'ExpressionStatement' ? statement.expression : undefined;
  } catch {
    return undefined;
  }
}

/** What is evaluated in the thread, as a program whose lines are those of the function. */
function programOf(expression: string): Program {
  try {
    return parse(`${strict}(${expression})`, { ecmaVersion: 'latest' });
  } catch (error) {
    const { message, loc } = error as SyntaxError & { loc?: { line: number } };
    const what = message.replace(/ \(\d+:\d+\)$/, '');
    throw new TypeError(
      `inline: the function cannot be taken from its place, line ${loc?.line}: ${what}`,
      { cause: error },
    );
  }
}

class Scope {
  readonly names: Set<string>;

  constructor(
    readonly parent?: Scope,
    names: readonly string[] = [],
    /** Whether `var` declares here. */
    readonly takesVars = false,
  ) {
    this.names = new Set(names);
  }

  get ofVars(): Scope {
    return this.takesVars || this.parent === undefined ? this : this.parent.ofVars;
  }

  has(name: string): boolean {
    return this.names.has(name) || (this.parent?.has(name) ?? false);
  }
}

/** The free variables of an expression, in the order in which they appear. */
export function freeVariables(expression: string): Map<string, FreeVariable> {
  const text = `${strict}(${expression})`;
  const uses: { name: string; scope: Scope; start: number; needed: boolean }[] = [];

  const use = (name: string, { start }: Node, scope: Scope, needed = true): void => {
    uses.push({ name, scope, start, needed });
  };

  const visitAll = (nodes: readonly (AnyNode | null | undefined)[], scope: Scope): void => {
    for (const node of nodes) if (node) visit(node, scope);
  };

  /** Adds the names of a pattern to a scope. What it computes is evaluated in another. */
  const declare = (pattern: AnyNode, target: Scope, scope: Scope): void => {
    switch (pattern.type) {
      case 'Identifier':
        target.names.add(pattern.name);
        return;
      case 'ObjectPattern':
        for (const property of pattern.properties) declare(property, target, scope);
        return;
      case 'Property':
        if (pattern.computed) visit(pattern.key, scope);
        declare(pattern.value, target, scope);
        return;
      case 'ArrayPattern':
        for (const element of pattern.elements) if (element) declare(element, target, scope);
        return;
      case 'RestElement':
        declare(pattern.argument, target, scope);
        return;
      case 'AssignmentPattern':
        declare(pattern.left, target, scope);
        visit(pattern.right, scope);
    }
  };

  const visit = (node: AnyNode, scope: Scope): void => {
    switch (node.type) {
      case 'Identifier':
        use(node.name, node, scope);
        return;
      case 'ThisExpression':
        use('this', node, scope);
        return;
      case 'UnaryExpression':
        if (node.operator === 'typeof' && node.argument.type === 'Identifier') {
          use(node.argument.name, node.argument, scope, false);
        } else {
          visit(node.argument, scope);
        }
        return;
      case 'MemberExpression':
        visit(node.object, scope);
        if (node.computed) visit(node.property, scope);
        return;
      case 'Property':
      case 'MethodDefinition':
        if (node.computed) visit(node.key, scope);
        visit(node.value, scope);
        return;
      case 'PropertyDefinition':
        if (node.computed) visit(node.key, scope);
        if (node.value) visit(node.value, new Scope(scope, ['this']));
        return;
      case 'LabeledStatement':
        visit(node.body, scope);
        return;
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'MetaProperty':
        return;
      case 'VariableDeclaration':
        for (const { id, init } of node.declarations) {
          declare(id, node.kind === 'var' ? scope.ofVars : scope, scope);
          if (init) visit(init, scope);
        }
        return;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression': {
        const isArrow = node.type === 'ArrowFunctionExpression';
        if (node.type === 'FunctionDeclaration' && node.id) scope.names.add(node.id.name);
        const own = new Scope(scope, node.id ? [node.id.name] : []);
        // The variables of the body are not seen by the defaults of the parameters.
        const parameters = new Scope(own, isArrow ? [] : ['this', 'arguments']);
        for (const parameter of node.params) declare(parameter, parameters, parameters);
        const body = new Scope(parameters, [], true);
        if (node.body.type === 'BlockStatement') visitAll(node.body.body, body);
        else visit(node.body, body);
        return;
      }
      case 'ClassDeclaration':
      case 'ClassExpression': {
        if (node.type === 'ClassDeclaration' && node.id) scope.names.add(node.id.name);
        const own = new Scope(scope, node.id ? [node.id.name] : []);
        visitAll([node.superClass, node.body], own);
        return;
      }
      case 'StaticBlock':
        visitAll(node.body, new Scope(scope, ['this'], true));
        return;
      case 'CatchClause': {
        const own = new Scope(scope);
        if (node.param) declare(node.param, own, own);
        visit(node.body, own);
        return;
      }
      case 'SwitchStatement':
        visit(node.discriminant, scope);
        visitAll(node.cases, new Scope(scope));
        return;
      case 'BlockStatement':
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
        visitAll(childrenOf(node), new Scope(scope));
        return;
      case 'ImportExpression':
        refuseRelative(node.source, text);
    }
    visitAll(childrenOf(node), scope);
  };

  visit(programOf(expression), new Scope());
  const free = new Map<string, FreeVariable>();
  for (const { name, scope, start, needed } of uses) {
    if (scope.has(name)) continue;
    const known = free.get(name);
    if (known === undefined) free.set(name, { line: getLineInfo(text, start).line, needed });
    else known.needed ||= needed;
  }
  return free;
}

function childrenOf(node: AnyNode): AnyNode[] {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === 'string');
}

/** In the thread it would be relative to a module of ours. */
function refuseRelative(specifier: Expression, text: string): void {
  const value =
    specifier.type === 'Literal'
      ? specifier.value
      : specifier.type === 'TemplateLiteral' && specifier.quasis[0]?.value.cooked;
  if (typeof value !== 'string' || !/^\.\.?(\/|$)/.test(value)) return;
  const { line } = getLineInfo(text, specifier.start);
  throw new TypeError(
    `inline: the function imports ${JSON.stringify(value)} (line ${line}), and in a thread that is relative to nothing: capture the absolute URL, new URL(${JSON.stringify(value)}, import.meta.url).href`,
  );
}
