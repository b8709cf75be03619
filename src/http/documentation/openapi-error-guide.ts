import type { ErrorCode } from '#base/error-codes.ts';

/** What an error means and what its reader can do about it; docs/reference/errors.md and /docs say the same words. */
export const errorGuide: Readonly<Record<ErrorCode, { readonly meaning: string; readonly remedy: string }>> = {
  'malformed-request': {
    meaning:
      'The bytes are no well-formed HTTP/1.1 request, or one that two readers could understand differently, such as a repeated `Content-Length`.',
    remedy: 'Send it with an ordinary HTTP client. `detail` names what could not be read.',
  },
  'invalid-json': {
    meaning:
      'The body is not JSON in UTF-8, is nested deeper than 128, or has a repeated or dangerous key among the members that the gateway interprets.',
    remedy: 'Correct the place that `detail` or `errors` names.',
  },
  'invalid-request': {
    meaning:
      'The body or the query string was read and does not fit: a member is missing, unknown, or has a wrong type or value.',
    remedy: '`errors` lists every problem at once, each with a pointer to its place. Nothing was sent to a far side.',
  },
  unauthenticated: {
    meaning: 'No credentials came with the request, or they are wrong, expired or ended.',
    remedy: 'Send Basic credentials, a Bearer token or the session cookie; get a new token from `/login` or `/oauth/token`.',
  },
  forbidden: {
    meaning:
      'The gateway knows who calls, and none of the caller’s roles may use this route, or none of its groups may change this automation.',
    remedy: 'Use an account with one of the roles or groups that `detail` names, or have it granted.',
  },
  'destination-denied': {
    meaning:
      'The outbound policy of REST calls does not admit the address, a name that resolves to it, or a header meant for cloud metadata services. Nothing is sent there.',
    remedy:
      '`detail` names the address and the rule. If the call is meant to be possible, the operator adds it to `outbound.allow`.',
  },
  'path-denied': {
    meaning: 'The adapter instance allows some paths only, and this one is not among them. No byte left.',
    remedy: 'Use another path, or have the operator change `allowPaths` or `denyPaths` of the adapter.',
  },
  'not-found': {
    meaning: 'The gateway has no route with this path.',
    remedy: 'Compare the path with `/openapi.json`; upper and lower case count.',
  },
  'adapter-not-found': {
    meaning: 'No adapter instance has the name in the path.',
    remedy: 'Take a name that `detail` lists, exactly as it is written there, URL-encoded (`Local%20NSO`).',
  },
  'automation-not-found': {
    meaning: 'The catalogue has no automation with this `_id`, or none that the caller may see: the two cannot be told apart.',
    remedy: 'Compare the `_id` with the listing; have one of the caller’s groups added to `gbac.read` or `gbac.write`.',
  },
  'method-not-allowed': {
    meaning: 'The path exists, with other methods.',
    remedy: 'Use a method that the `Allow` header names.',
  },
  'request-timeout': {
    meaning: 'The request came too slowly: its headers have 10 seconds, all of it 30.',
    remedy: 'Send it again on a new connection; look for a slow link or a client that announces more bytes than it sends.',
  },
  'automation-exists': {
    meaning: 'The name of the automation is that of another one; names are compared exactly. Nothing was changed.',
    remedy: 'Choose another name, or change the automation that has it.',
  },
  'configuration-invalid': {
    meaning:
      'The configuration was to be reloaded, and the file or something that it names has problems. Nothing was changed: the gateway goes on with what it had.',
    remedy: 'Correct each place that `errors` lists, with file, line and column; then reload again.',
  },
  'idempotency-key-in-use': {
    meaning:
      'The first request with this Idempotency-Key is still under way, here or at another gateway. Nothing was sent for this one.',
    remedy: 'Send the same request again after `Retry-After`, until it is answered.',
  },
  'reply-not-kept': {
    meaning:
      'The first request with this Idempotency-Key was answered by the far side, with more than the 1 MiB that is kept of a reply. Nothing was sent for this one.',
    remedy: 'Read from the far side what you need to know. To have the call made again, send it with another key.',
  },
  'reload-unavailable': {
    meaning: 'The gateway has no configuration file to read again, or it is stopping.',
    remedy: 'Start the gateway with `serve --config FILE`; after that, what changed in the file can be reloaded.',
  },
  'precondition-failed': {
    meaning:
      'The automation is not at an entity tag that `If-Match` names: somebody changed it since it was read; or it is at one that `If-None-Match` names. Nothing was changed.',
    remedy: 'Read it again, repeat the change on what it has become, and send the new tag.',
  },
  'body-too-large': {
    meaning:
      'The request body is over `server.requestBodyLimit`, and was not read to its end; or an automation would be over 1 MiB.',
    remedy: 'Send less; the limit of the body is the operator’s to raise.',
  },
  'unsupported-media-type': {
    meaning: 'The body is declared as another media type or charset than the route takes, or it is compressed.',
    remedy:
      'Send the media type that the `Accept` header (`Accept-Patch` for PATCH) of the reply names, in UTF-8 and without `Content-Encoding`.',
  },
  'idempotency-key-reused': {
    meaning:
      'A request with this Idempotency-Key and another payload came within the last 24 hours, from the same caller and to the same path, adapter included. Nothing was sent for this one.',
    remedy: 'Repeat a request byte for byte; give every other request a key of its own, such as a random UUID.',
  },
  'too-many-requests': {
    meaning:
      'The caller has used up the calls that `server.rateLimit` gives each principal, or more logins are being checked right now than the gateway takes on at a time.',
    remedy:
      'Wait as long as `Retry-After` says. A token from `/login` needs no login check; a higher limit is the operator’s to give.',
  },
  'login-throttled': {
    meaning: 'Too many logins failed for this account or from this address, so each further try has to wait.',
    remedy: 'Wait as long as `Retry-After` says, then send the right password. Tokens that are valid already keep working.',
  },
  'headers-too-large': {
    meaning: 'The request has more than 16 KiB of headers, or more than 100 of them.',
    remedy: 'Send fewer or shorter ones; cookies of other services are the usual cause.',
  },
  'internal-error': {
    meaning: 'The gateway has a fault. What went wrong stands in its log and not in the reply.',
    remedy: 'Give the `requestId` to the operator, who finds the cause in the log under it.',
  },
  'upstream-error': {
    meaning: 'The orchestrator answered the action or query with a status of 400 or above.',
    remedy:
      '`upstream` holds its status, media type and body; `detail` its own error tag and message. Correct what it complains of.',
  },
  'upstream-dns-failed': {
    meaning: 'The host name of the far side has no address, or no name server answered.',
    remedy: 'Check the name in `uri` or in the adapter’s `url`, and the name servers of the gateway’s machine.',
  },
  'upstream-connect-failed': {
    meaning:
      'No connection to the far side came about: it refused, is unreachable, its proxy refused, or an open connection broke before the call was written to it. Nothing of the call was sent there; where a redirect led there, `detail` says that the call itself was answered.',
    remedy:
      'Check address and port, and that a firewall lets the gateway through. Unless `detail` says that it was answered, it is safe to send the call again.',
  },
  'upstream-tls-failed': {
    meaning:
      'The far side was reached, and TLS with it failed; most often its certificate is not trusted here. Nothing of the call was sent.',
    remedy: 'Check the certificate and the names in it; a private CA is configured as `tls.caFile`.',
  },
  'upstream-closed': {
    meaning: 'The far side closed or reset the connection before its reply was complete.',
    remedy: 'Look at the far side’s own log. A GET can simply be sent again.',
  },
  'upstream-protocol-error': {
    meaning:
      'What the far side sent is no HTTP/1.1 reply, cannot be decoded as it claims, or does not go on as it began (its connection to the caller then breaks off).',
    remedy: 'Check that the port speaks HTTP, and TLS only where the address says https.',
  },
  'response-too-large': {
    meaning:
      'The reply of the far side is larger than `responseLimit`, counted after decompression, or the gateway has no memory left to read it with; `detail` says which.',
    remedy: 'Ask for less (`fields`, `depth`, paging), or have the operator raise the limit. The call itself was carried out.',
  },
  'too-many-redirects': {
    meaning: 'The far side sent the REST call from address to address, more often than `outbound.redirects` allows.',
    remedy: 'Call the final address directly; look for a loop.',
  },
  'redirect-refused': {
    meaning:
      'The orchestrator answered with a redirect. The gateway never follows one: the adapter’s credentials stay where the operator sent them.',
    remedy: 'Call the address that the redirect names, or have the adapter’s `url` corrected.',
  },
  'outcome-unknown': {
    meaning:
      'A call that can change state left the gateway and was not answered. It may have been carried out or not; the gateway does not send it again. The status is 504 on a time-out, otherwise 502; it is 409 where a request repeats the Idempotency-Key of such a call.',
    remedy:
      'Find out at the far side what happened, then decide whether to send it again, with a new Idempotency-Key if it has one.',
  },
  'adapter-busy': {
    meaning: 'An address of the adapter instance has `concurrency` calls in flight and `queue` more waiting. Nothing was sent.',
    remedy: 'Send the call again after `Retry-After`, or have the operator raise the numbers.',
  },
  'adapter-unavailable': {
    meaning:
      'The orchestrator behind the adapter instance failed repeatedly, so calls to it are held back for a while, or there is no token to call it with. Nothing was carried out.',
    remedy:
      'Send the call again after `Retry-After`; the operator looks at the orchestrator, whose last failure `detail` names, or at the token endpoint that it names.',
  },
  overloaded: {
    meaning:
      'The gateway is more than 250 ms behind with its work, close to the end of its memory, or has more calls in flight than it may open files for: calls and logins wait outside, health and metrics are answered. A listing or an export of automations gets this, too, while others before it take long.',
    remedy:
      'Send the request again after `Retry-After`, or to another gateway. If it lasts, the operator looks at `/metrics` and adds gateways, memory or open files (`ulimit -n`).',
  },
  'audit-unavailable': {
    meaning:
      'The record of a call that may change something cannot be written to the audit log, or not within the time of the call, so the call did not leave the gateway; where `detail` says that it was redirected, it did not go on from the address that it was sent to.',
    remedy:
      'Send the request again after `Retry-After`: nothing has happened; with a new Idempotency-Key if it was redirected. The operator looks at `/readyz` and the log.',
  },
  'store-unavailable': {
    meaning: 'The database of the gateway, or the key document of a token’s issuer, cannot be reached.',
    remedy: 'Send the request again after `Retry-After`; the operator looks at `/readyz` and the log.',
  },
  'upstream-timeout': {
    meaning:
      'A time limit passed before the far side had answered; `detail` names the phase (DNS, connect, first byte, idle, total).',
    remedy:
      'Check the far side, ask for less, or have the operator raise the limit. `Prefer: wait` can shorten it, never lengthen it.',
  },
};
