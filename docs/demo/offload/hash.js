/** What the threads of the pool run. */
import bcrypt from 'bcrypt';

export function hash(password, cost) {
  return bcrypt.hashSync(password, cost);
}
