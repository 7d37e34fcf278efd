/**
 * Ends work that would never end: a subject that lost a waiter has failed, and says after how much.
 */
export async function within<Result>(
  milliseconds: number,
  work: Promise<Result>,
  soFar: () => string,
): Promise<Result> {
  let alarm: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    alarm = setTimeout(
      () => reject(new Error(`${soFar()} after ${milliseconds / 1_000} s`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(alarm);
  }
}
