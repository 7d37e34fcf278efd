import { test } from 'vitest';
import { search } from './model/search.js';
import type { Setup } from './model/world.js';
const a={keys:['a']}, b={keys:['b']}, ab={keys:['a','b']}, bc={keys:['b','c']}, abc={keys:['a','b','c']};
const setups: Setup[] = [
  { name: 'three strict', wishes: [[ab],[bc],[abc]], may: {} },
  { name: 'two each', wishes: [[a,b],[ab,a]], may: {cancel:1} },
  { name: 'time', wishes: [[a],[a]], may: {tick:5,beat:2} },
  { name: 'cut', wishes: [[ab],[bc,a]], may: {cut:1,tick:1} },
  { name: 'silence', wishes: [[ab],[bc],[b]], may: {silence:1} },
  { name: 'crash', wishes: [[ab],[bc],[b]], may: {crash:1,tick:4} },
  { name: 'flush', wishes: [[a],[a]], may: {flush:1,tick:4, beat:1} },
  { name: 'flush2', wishes: [[a,b],[a]], may: {flush:1} },
  { name: 'flush3', wishes: [[a,b],[a],[a]], may: {flush:1} },
  { name: 'flush4', wishes: [[a,b],[a]], may: {flush:1, cut:1, tick:1} },
  { name: 'deaf', wishes: [[ab],[{keys:['b'],revocable:true}],[b]], may: {deafness:1} },
  { name: 'flush5', wishes: [[a,b],[b]], may: {flush:1} },
  { name: 'restart', wishes: [[a],[a]], may: {restart:1,tick:4} },
  { name: 'revocable', wishes: [[{keys:['a','b'],revocable:true}],[{keys:['b'],revocable:true}],[b]], may: {cut:0,silence:1} },
];
test.each(setups)('$name', (setup) => {
  const t=performance.now();
  const f = search(setup, {states: +(process.env.STATES??60000), ends: 20});
  console.log(JSON.stringify(f,null,1), Math.round(performance.now()-t),'ms');
}, 100000);
