/** Reads the scenario files from disk and checks each against the schema. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { primitives, type ScenarioFile } from './scenario.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every file by its path, such as `semaphore/fifo.yaml`. Throws for the first invalid file. */
export function loadScenarioFiles(): Record<string, ScenarioFile> {
  const files: Record<string, ScenarioFile> = {};
  for (const folder of primitives) {
    for (const name of readdirSync(join(root, folder)).sort()) {
      const path = `${folder}/${name}`;
      files[path] = parseScenarioFile(path, readFileSync(join(root, path), 'utf8'));
    }
  }
  return files;
}

export function parseScenarioFile(path: string, text: string): ScenarioFile {
  const file: unknown = parse(text);
  if (validate(file)) return file;
  const problems = (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
  throw new Error([`${path} does not match scenario.schema.json:`, ...problems].join('\n  '));
}

const schema = JSON.parse(readFileSync(join(root, 'scenario.schema.json'), 'utf8'));
const validate = new Ajv2020({ allowUnionTypes: true }).compile<ScenarioFile>(schema);
