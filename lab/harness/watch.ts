/** Ends work that would hang: a subject that lost a waiter has failed, and the error says how far it got. */
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
