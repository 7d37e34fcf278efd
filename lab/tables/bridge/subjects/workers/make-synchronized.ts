export { answered, bytes, format, record, rect, text } from './functions.js';
