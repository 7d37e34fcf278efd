import { runAsWorker } from 'synckit';
import { answerQuestion } from './functions.js';

runAsWorker(answerQuestion);
