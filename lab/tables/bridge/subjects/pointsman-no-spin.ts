import { bridgeSubject } from './bridge.js';

export default bridgeSubject('pointsman, spin: false', 'Both threads sleep while they wait.', {
  spin: false,
});
