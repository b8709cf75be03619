import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';

/** What the gateway shows at the addresses of one adapter instance. */
export interface Credentials {
  /**
   * The header (name, value), or nothing; the same array for as long as they are the same. Rejects with `adapter-unavailable` where
   * there are none to be had, with CallerLeft where the caller does not wait for them.
   */
  headers(scope: CallScope): readonly string[] | Promise<readonly string[]>;
  /** Learns from the reply to a call that carried `used`. True where it refused them (401) and `headers` may give others now. */
  saw(reply: FarSideReply, used: readonly string[]): boolean;
  /** Reply headers, in lower case, that hand out credentials: they are the gateway's, no caller gets to see them. */
  readonly withheld: readonly string[];
  close(): Promise<void>;
}
