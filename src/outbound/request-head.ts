import type { OutboundCall } from './outbound-call.ts';
import { fieldName } from './reply-fields.ts';

const unsendablePath = /[^!-~]/u;
const unsendableValue = /[^\t -~\x80-\xff]/u;

/**
 * Request line and header fields with the empty line (RFC 9112 3, 5), as latin-1: `Host` by the origin, then those of the call as they stand, then
 * the body's length. Undefined where a byte of them would be read as something else: whoever made the call has not checked it.
 */
export function requestHead({ method, origin, path, body }: OutboundCall, headers: readonly string[]): string | undefined {
  if (!path.startsWith('/') || unsendablePath.test(path)) return undefined;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const [name, value] = [headers[at] as string, headers[at + 1] as string];
    if (!fieldName.test(name) || unsendableValue.test(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  const length = body?.length ?? 0;
  return length > 0 || takesBody(method) ? `${head}content-length: ${length}\r\n\r\n` : `${head}\r\n`;
}

/** Whether a body is what a far side expects of the method: where it does not, one may be read as the next request (RFC 9110 9.3). */
export function takesBody(method: OutboundCall['method']): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
