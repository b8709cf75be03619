import type { ServerResponse } from 'node:http';

/**
 * Writes the status and headers (name, value, name, value …) of a reply and adds X-Request-Id. All in one call: where a header was set
 * before, Node uses its slow path for each of the others too.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  { requestId }: { readonly requestId: string },
  headers: readonly string[],
): void {
  response.writeHead(status, [...headers, 'X-Request-Id', requestId]);
}
