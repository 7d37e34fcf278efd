/** Objects of another realm, made by code in a `vm` context. */
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { functionsOf } from './functions.js';

const namesOf = (api: object) => functionsOf(api, 'api', []).map(({ name }) => name);

test('members that all objects and functions of that realm inherit are not served', () => {
  const account = runInNewContext(`
    class Base { close() {} static make() {} }
    class Account extends Base { balance() {} }
    ({
      balance() {},
      inner: { deep: { deeper() {} } },
      instance: new Account(),
      Account,
      call: Object.assign(() => {}, { twice() {} }),
      bare: Object.assign(Object.create(null), { alone() {} }),
    })
  `);
  const names = [
    'balance',
    'call',
    'Account',
    'inner.deep.deeper',
    'instance.balance',
    'instance.close',
    'Account.make',
    'call.twice',
    'bare.alone',
  ];
  expect(namesOf(account).sort()).toEqual([...names].sort());
  expect(namesOf({ account }).sort()).toEqual(names.map((name) => `account.${name}`).sort());
});
