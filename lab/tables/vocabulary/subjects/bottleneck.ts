import { bottleneck } from '../bottleneck.js';

export default bottleneck({
  name: 'bottleneck',
  note: 'Its rate is a reservoir that is refilled in each interval, as its documentation recommends for limits of servers. It gets only 20 functions or 100 keys, because each function takes 2 ms.',
  rateOptions: ({ limit, per }) => ({
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: per,
  }),
});
