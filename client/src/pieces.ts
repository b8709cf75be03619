import { GatewayError } from './gateway-error.ts';

/** The body of a reply as it arrives; not every browser iterates over streams. Throws `no-reply` where it breaks off. */
export async function* piecesOf({ body }: Response, heard: () => void = () => {}): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => Promise.reject(brokenOff(error)));
      if (done) return;
      heard();
      yield value;
    }
  } finally {
    // Frees the connection where the reader left before the end.
    await reader.cancel().catch(() => {});
  }
}

/** Errors of the network are TypeErrors (Fetch); any other is the reason of an abort. */
export function brokenOff(error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  return new GatewayError('The gateway broke the reply off.', { code: 'no-reply', cause: error });
}
