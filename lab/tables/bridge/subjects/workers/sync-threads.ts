import { runAsWorker } from 'sync-threads';
import { answerQuestion } from './functions.js';

await runAsWorker(answerQuestion);
