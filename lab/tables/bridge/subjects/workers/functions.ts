/** The functions in a worker that a library makes, and how many calls they have answered. */
import { countedFunctions, rectWithoutPage } from '../../host/functions.js';
import { answerOf, type Request } from '../requests.js';

export const { functions, answered } = countedFunctions(rectWithoutPage);

export type Question = Request | 'answered';

export function answerQuestion(question: Question): unknown {
  return question === 'answered' ? answered() : answerOf(functions, question);
}
