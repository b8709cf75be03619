import { GatewayError } from './gateway-error.ts';

/**
 * The code of an error from the operating system, Node or a library, such as `ENOENT`. Undefined for all other errors, a GatewayError
 * included. Unlike the message, the code quotes no data, so callers and operators may see it.
 */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof GatewayError) return undefined;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
