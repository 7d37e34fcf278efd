import { expect, test } from 'vitest';
import { parseAddress } from './address.js';

test('npm gets the form that it compares with a provenance', () => {
  expect(parseAddress('https://host.example/owner/name')).toMatchObject({
    page: 'https://host.example/owner/name',
    git: 'git+https://host.example/owner/name.git',
  });
  expect(parseAddress(undefined)).toBe(undefined);
});

test.each([
  'http://host/owner/name',
  'https://host/owner/name/',
  'https://host/owner/name.git',
  'https://host/name',
  'owner/name',
  { url: 'https://host/owner/name' },
])('%j is refused', (repository) => {
  expect(() => parseAddress(repository)).toThrow('expected the address');
});
