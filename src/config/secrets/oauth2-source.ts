import type { OauthClient } from '#adapters/credentials/credentials.ts';
import { requestRenewing } from '#adapters/credentials/oauth-tokens.ts';
import { overOwnConnection } from './source-call.ts';
import type { ValueSource } from './value-source.ts';

/** The present access token (RFC 6749, section 4.4). `key`: differs where any setting differs. */
export function oauth2Source(client: OauthClient, key: string): ValueSource {
  const { host } = new URL(client.tokenUrl);
  return {
    name: `oauth2 ${client.clientId} at ${host}`,
    key: JSON.stringify(['oauth2', key]),
    async read() {
      const userAgent = 'orchestration-gateway';
      const granted = await overOwnConnection(undefined, (sender, scope) =>
        requestRenewing({ client, sender, scope, userAgent }),
      );
      if ('fault' in granted) return { fault: `the token endpoint ${host} ${granted.fault}` };
      const { token, lifetime } = granted;
      // As the tokens of adapter instances: a tenth ahead, within 5 to 60 seconds, or at half.
      return lifetime === undefined
        ? { text: token }
        : { text: token, renewIn: lifetime - Math.min(Math.max(lifetime / 10, 5_000), 60_000, lifetime / 2) };
    },
  };
}
