import { bottleneck } from '../bottleneck.js';

export default bottleneck({
  name: 'bottleneck, minTime',
  note: 'Its rate is a minimum time between two starts.',
  rateOptions: ({ limit, per }) => ({ minTime: per / limit }),
});
