import type { Log } from '#base/log.ts';
import type { AccessRules } from './access-rules.ts';
import type { RequestOrigin } from './authentication.ts';
import type { Principal } from './principal.ts';
import type { RefusedToken } from './token-fault.ts';

/** Characters of what an unverified token says that the log keeps. */
const longestNoted = 256;

/** Tells the operator what the caller does not learn of its token. */
interface TokenLog {
  refused(origin: RequestOrigin, fault: RefusedToken): void;
  /** Notes a valid token of an issuer that names no role: its caller gets 403. */
  accepted(origin: RequestOrigin, principal: Principal, rules: AccessRules): void;
}

export function createTokenLog(log: Log): TokenLog {
  return {
    refused({ sourceAddress, requestId }, { refused: reason, ...said }) {
      const [issuer, subject] = [said.issuer?.slice(0, longestNoted), said.subject?.slice(0, longestNoted)];
      log.info('a token was refused', { requestId, sourceAddress, issuer, subject, reason });
    },
    accepted({ sourceAddress, requestId }, { issuer, subject, roles }, { issuers }) {
      if (issuer === undefined || roles.length > 0) return;
      const reason = `no role: claim ${JSON.stringify(issuers.get(issuer)?.issuer.rolesClaim)}`;
      log.info('a token has no role', { requestId, sourceAddress, issuer, subject, reason });
    },
  };
}
