import { memoryPingPong } from './ping-pong.js';

export default memoryPingPong({
  name: 'two workers, polling',
  wait: 'spin',
  note: 'A number to another worker and back; both wait awake and keep a core busy.',
});
