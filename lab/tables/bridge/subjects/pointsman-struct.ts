import { calls, payloadNames } from '../work.js';
import { bridgeSubject } from './bridge.js';

export default bridgeSubject({
  name: 'pointsman, schemas',
  note: 'A schema for each function.',
  does: [...calls, 'in flight', 'batch of 8', 'batch of 64', ...payloadNames],
  async onBothSides() {
    const { bool, bytes, f64, i32, list, record, string } = await import('pointsman/bridge');
    const rect = record({
      x: f64,
      y: f64,
      width: f64,
      height: f64,
      left: f64,
      right: f64,
      top: f64,
      bottom: f64,
    });
    const item = record({ name: string, weight: f64, pieces: i32 });
    const parcel = record({ number: i32, receiver: string, express: bool, items: list(item) });
    return {
      schemas: {
        rect: { arguments: [], result: rect },
        bytes: { arguments: [i32], result: bytes },
        text: { arguments: [i32], result: string },
        record: { arguments: [], result: parcel },
      },
    };
  },
});
