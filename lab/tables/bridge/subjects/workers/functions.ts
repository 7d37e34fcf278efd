/** The functions in a worker that a library starts, and the number of calls that they have answered. */
import { countedFunctions, rectWithoutPage } from '../../host/functions.js';
import { answerOf, type Request } from '../requests.js';

export const { functions, answered } = countedFunctions(rectWithoutPage);

export type Question = Request | 'answered';

export function answerQuestion(question: Question): unknown {
  return question === 'answered' ? answered() : answerOf(functions, question);
}
