import { bottleneck } from '../bottleneck.js';

export default bottleneck({
  name: 'bottleneck',
  note: 'Its rate is a reservoir that is refilled in each interval, as its documentation recommends for limits of servers. It gets 20 functions, because each takes 2 ms, or 100 keys.',
  rateOptions: ({ limit, per }) => ({
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: per,
  }),
});
