import { runAsWorker } from 'sync-threads';
import { answerQuestion } from './functions.js';

await runAsWorker(async (question) => answerQuestion(question));
