import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';

/** The credentials that the gateway sends to one adapter instance. */
export interface Credentials {
  /**
   * The header as name and value, or an empty array; the same array object until the credentials change. Rejects with
   * `adapter-unavailable` if there are no credentials, or with CallerLeft if the caller leaves before there are.
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
