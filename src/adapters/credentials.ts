import { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { AdapterAuthentication } from './authentication.ts';

/** The credentials that the gateway sends to one adapter instance. */
export interface Credentials {
  readonly type: AdapterAuthentication['type'];
  /**
   * The header as name and value, or an empty array; the same array object until the credentials change. Rejects with NoCredentials,
   * or with CallerLeft if the caller leaves before there are credentials.
   */
  headers(scope: CallScope): readonly string[] | Promise<readonly string[]>;
  /**
   * Processes the reply to a call with the credentials `used`. True if the reply refused them (401) and `headers` may now give
   * others.
   */
  observe(reply: FarSideReply, used: readonly string[]): boolean;
  /** Names of reply headers with credentials, in lower case. They belong to the gateway, so callers do not get them. */
  readonly withheld: readonly string[];
  close(): Promise<void>;
}

/** The gateway has no credentials for a call, because their issuer gives none. Nothing was sent. */
export class NoCredentials extends GatewayError {
  constructor(detail: string) {
    super('adapter-unavailable', detail, { headers: { 'Retry-After': '1' } });
  }
}
