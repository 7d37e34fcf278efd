/** A lock with another usual mistake: who holds it believes so until it gives it back. */
import type { Lock, Setting } from './subject.js';
import { open } from './unchecked.js';

const days = 24 * 3_600_000;

export default (setting: Setting): Promise<Lock> => open(setting, days);
