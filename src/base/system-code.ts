import { GatewayError } from './gateway-error.ts';

/**
 * The code of an error that the operating system, Node or a library gave, such as `ENOENT`; undefined for any other, a GatewayError
 * included. Unlike the error's message it quotes nothing, so it may be shown.
 */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof GatewayError) return undefined;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
