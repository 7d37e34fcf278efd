/** A lock with another common mistake: a holder counts as valid until it releases. */
import type { Lock, Setting } from './subject.js';
import { open } from './unchecked.js';

const days = 24 * 3_600_000;

export default (setting: Setting): Promise<Lock> => open(setting, days);
