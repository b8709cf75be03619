import type { OutboundCall } from './outbound-call.ts';
import { fieldName } from './reply-fields.ts';

const unsendablePath = /[^!-~]/u;
const unsendableValue = /[^\t -~\x80-\xff]/u;

/**
 * Request line, header fields and the empty line (RFC 9112 3, 5), to be written as latin-1. The fields are `Host` of the origin, the headers
 * of the call unchanged, and the length of the body. Undefined where the path or a header holds a byte that a far side could read as framing.
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

/** Whether far sides expect a body with the method. Where they do not, a body may be read as the next request (RFC 9110 9.3). */
export function takesBody(method: OutboundCall['method']): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
