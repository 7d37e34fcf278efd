import { bridgeSubject } from './bridge.js';

export default bridgeSubject(
  'pointsman',
  'With its defaults. Waits awake: both threads spin before they sleep, for about as long as a wake-up takes.',
);
