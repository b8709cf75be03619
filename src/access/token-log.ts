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
  /** Notes a valid token of an issuer that gives no role, so that its caller gets 403, or whose groups the issuer left out. */
  accepted(origin: RequestOrigin, person: AcceptedPerson, rules: AccessRules): void;
}

interface AcceptedPerson {
  readonly principal: Principal;
  readonly areGroupsLeftOut: boolean;
}

export function createTokenLog(log: Log): TokenLog {
  return {
    refused({ sourceAddress, requestId }, { refused: reason, ...said }) {
      const [issuer, subject] = [said.issuer?.slice(0, longestNoted), said.subject?.slice(0, longestNoted)];
      log.info('a token was refused', { requestId, sourceAddress, issuer, subject, reason });
    },
    accepted({ sourceAddress, requestId }, { principal: { issuer, subject, roles }, areGroupsLeftOut }, { issuers }) {
      if (areGroupsLeftOut)
        log.warn('an issuer left the groups out of a token: its person has none', { requestId, sourceAddress, issuer, subject });
      if (issuer === undefined || roles.length > 0) return;
      const reason = `no role: claim ${JSON.stringify(issuers.get(issuer)?.issuer.rolesClaim)}`;
      log.info('a token has no role', { requestId, sourceAddress, issuer, subject, reason });
    },
  };
}
