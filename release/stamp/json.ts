/** Stamps npm's and JSR's files. Unchanged parts keep their formatting. */
import { isDeepStrictEqual } from 'node:util';
import {
  applyEdits,
  findNodeAtLocation,
  type JSONPath,
  modify,
  parse,
  parseTree,
} from 'jsonc-parser';
import type { Facts } from './facts.js';

type Fields = Record<string, unknown>;

const dependencies = [
  'dependencies',
  'devDependencies',
  'peerDependencies',
  'optionalDependencies',
];

export function stampManifest(text: string, { version, address }: Facts): string {
  const manifest = parse(text) as Fields;
  let stamped = stampDependencies(text, [], version);
  if (manifest.name !== 'pointsman') return stamped;
  stamped = set(stamped, ['version'], version);
  if (!address) return stamped;
  // Each new field is inserted after the licence, so the last one inserted comes first.
  stamped = set(stamped, ['bugs'], { url: address.issues });
  stamped = set(stamped, ['homepage'], `${address.page}#readme`);
  const repository = { type: 'git', url: address.git, directory: 'packages/pointsman' };
  return set(stamped, ['repository'], repository);
}

export function stampLock(text: string, { version }: Facts): string {
  const { packages } = parse(text) as { packages: Record<string, Fields> };
  let stamped = text;
  for (const [path, fields] of Object.entries(packages)) {
    stamped = stampDependencies(stamped, ['packages', path], version);
    if (path.endsWith('packages/pointsman') && fields.version !== undefined) {
      stamped = set(stamped, ['packages', path, 'version'], version);
    }
  }
  return stamped;
}

/** Stamps JSR's manifest, and the Deno configuration of a program that imports the package from npm. */
export function stampDeno(text: string, { version }: Facts): string {
  const { name } = parse(text) as Fields;
  const stamped = text.replace(/(\bnpm:pointsman@\^)[\w.+-]+/g, `$1${version}`);
  return /(^|\/)pointsman$/.test(String(name)) ? set(stamped, ['version'], version) : stamped;
}

/** Stamps only version ranges: links to folders and files stay. */
function stampDependencies(text: string, path: JSONPath, version: string): string {
  const tree = parseTree(text);
  return dependencies
    .map((kind) => [...path, kind, 'pointsman'])
    .filter((place) => tree && /^\^\d/.test(findNodeAtLocation(tree, place)?.value))
    .reduce((stamped, place) => set(stamped, place, `^${version}`), text);
}

function set(text: string, path: JSONPath, value: unknown): string {
  const present = path.reduce<unknown>((fields, key) => (fields as Fields)[key], parse(text));
  if (isDeepStrictEqual(present, value)) return text;
  const edits = modify(text, path, value, {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' },
    getInsertionIndex: (keys) => keys.indexOf('license') + 1 || keys.length,
  });
  return applyEdits(text, edits);
}
