import { answered as count, functions } from './functions.js';

export const rect = async () => functions.rect();
export const bytes = async (length: number) => functions.bytes(length);
export const text = async (length: number) => functions.text(length);
export const record = async () => functions.record();
export const answered = async () => count();
