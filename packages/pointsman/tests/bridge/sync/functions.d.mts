import type { Transferred } from 'pointsman/bridge';

export function later<T>(value: T): Promise<T>;
export function same<T>(value: T): T;
export const inner: { deep(): string };
export const constant: number;
export default function named(): string;
export function never(): Promise<never>;
export function size(buffer: ArrayBuffer): number;
export function made(size: number): Transferred<ArrayBuffer>;
export function call(callback: (n: number) => Promise<number>, n: number): Promise<number>;
export function compute(milliseconds: number): number;
export function fail(): never;
export function failLater(): Promise<never>;
export function throwValue(value: unknown): never;
export function surroundings(): object;
export function exit(code: number): Promise<never>;
export function crash(): Promise<never>;
export function allocate(): never;
