/** The functions in a worker that a library starts, and the number of calls that they have answered. */
import { countedFunctions, rectWithoutPage } from '../../host/functions.js';
import { answerOf, type Request } from '../requests.js';

const { functions, answered: count } = countedFunctions(rectWithoutPage);

export const rect = async () => functions.rect();
export const bytes = async (length: number) => functions.bytes(length);
export const text = async (length: number) => functions.text(length);
export const record = async () => functions.record();
export const format = async (source: string) => functions.format(source);
export const answered = async () => count();

export type Question = Request | 'answered';

/** For a library whose worker has one function. */
export async function answerQuestion(question: Question): Promise<unknown> {
  return question === 'answered' ? count() : answerOf(functions, question);
}
