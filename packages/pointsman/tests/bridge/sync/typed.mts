export const typed = (n: number): number => n + 1;
