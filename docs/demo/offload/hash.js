/** Runs in the pool's threads. */
import bcrypt from 'bcrypt';

export function hash(password, cost) {
  return bcrypt.hashSync(password, cost);
}
