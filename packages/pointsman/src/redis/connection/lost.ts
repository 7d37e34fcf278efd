/** The one error that connections make themselves. */

/** A command has no reply and will not get one. Whether the server has carried it out is unknown. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** Whether the server has replied the error: only then does it begin with a code in capitals. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z][A-Z0-9_]+ /.test(error.message);
}
