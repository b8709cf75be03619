import type { ServerResponse } from 'node:http';

/**
 * Writes status and headers (names and values in turn) of a reply, X-Request-Id among them. All at once: where a header was set before,
 * Node takes each of the others through its slow way as well.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  { requestId }: { readonly requestId: string },
  headers: readonly string[],
): void {
  response.writeHead(status, [...headers, 'X-Request-Id', requestId]);
}
