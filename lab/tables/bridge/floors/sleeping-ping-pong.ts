import { memoryPingPong } from './ping-pong.js';

export default memoryPingPong({
  name: 'two workers, Atomics.wait',
  wait: 'sleep',
  note: 'A number to another worker and back; both sleep while they wait.',
});
