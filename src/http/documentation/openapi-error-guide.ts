import type { ErrorCode } from '#base/error-codes.ts';
import { runErrorGuide } from './run-error-guide.ts';

/** What an error means and what to do about it. /docs and docs/reference/errors.md show these texts. */
export const errorGuide: Readonly<Record<ErrorCode, { readonly meaning: string; readonly remedy: string }>> = {
  ...runErrorGuide,
  'malformed-request': {
    meaning:
      'The bytes are not a well-formed HTTP/1.1 request, or two servers could read them differently, as with a repeated `Content-Length`.',
    remedy: 'Send it with an ordinary HTTP client. `detail` names the fault.',
  },
  'invalid-json': {
    meaning:
      'The body is not JSON in UTF-8, or is nested deeper than 128. Or the members that the gateway interprets have a repeated or dangerous key.',
    remedy: 'Correct the place that `detail` or `errors` names.',
  },
  'invalid-request': {
    meaning: 'The body or the query string does not fit its schema: a member is missing, unknown, or has a wrong type or value.',
    remedy: '`errors` lists every problem at once, each with a pointer to its place. Nothing was sent to an upstream.',
  },
  'form-invalid': {
    meaning:
      'The document is no JSON, or no JSON Schema 2020-12 of one flat object of the kinds that a form may have. Nothing was stored.',
    remedy: '`errors` lists every problem with its pointer. Correct them, and send the form again.',
  },
  unauthenticated: {
    meaning: 'The request has no credentials, or they are wrong, expired or ended.',
    remedy: 'Send Basic credentials, a Bearer token or the session cookie; get a new token from `/login` or `/oauth/token`.',
  },
  forbidden: {
    meaning:
      'The caller is authenticated. But none of its roles allows this request, or none of its groups may change this automation.',
    remedy: 'Use an account with one of the roles or groups that `detail` names, or ask the operator for one of them.',
  },
  'cross-site': {
    meaning:
      'A browser sent the request for a page of another site: `Sec-Fetch-Site` is neither `same-origin` nor `none`, or `Origin` is not the gateway’s own. GET and HEAD are not refused.',
    remedy:
      'Send the request from a page of the gateway, or without a browser. Where browsers reach the gateway at another address, the operator sets `server.publicUrl`.',
  },
  'destination-denied': {
    meaning:
      'The outbound policy of REST calls does not admit the address, a name that resolves to it, or a header for cloud metadata services. Nothing is sent there.',
    remedy: '`detail` names the address and the rule. To allow the call, the operator adds the address to `outbound.allow`.',
  },
  'path-denied': {
    meaning: 'The adapter instance does not allow this path. Nothing was sent.',
    remedy: 'Use another path, or ask the operator to change `allowPaths` or `denyPaths` of the adapter instance.',
  },
  'identity-unmapped': {
    meaning:
      'The adapter instance sends each call as its caller (`auth: caller`). You have no name at the orchestrator, or yours belongs to another person. Nothing was sent.',
    remedy: 'Ask the operator for an entry in `auth.users` of the adapter instance.',
  },
  'secret-altered': {
    meaning: 'The call of a run has a secret in base64, in hexadecimal digits or in percent-encoding. Nothing was sent.',
    remedy: 'Give the secret as it is: the gateway encodes it. For Basic credentials use `authentication`.',
  },
  'approval-required': {
    meaning:
      'A rule of the section `approvals` matches the call, and people have not granted it yet. Nothing was sent. Approvers now see the call as it would leave.',
    remedy:
      'Wait until the approval of `approval.href` is granted. Then send the same call again with the header `Approval` and `approval.id`, before `approval.expires`.',
  },
  'approval-mismatch': {
    meaning: 'The header `Approval` names no approval of this call: something about the call changed, or it has another caller.',
    remedy: 'Send the call exactly as it was approved, or without the header, so that the gateway asks for a new approval.',
  },
  'not-found': {
    meaning: 'The gateway has no route with this path.',
    remedy: 'Compare the path with `/openapi.json`; paths are case-sensitive.',
  },
  'adapter-not-found': {
    meaning: 'No adapter instance has the name in the path.',
    remedy: 'Use a name that `detail` lists, exactly as written and URL-encoded (`Local%20NSO`).',
  },
  'automation-not-found': {
    meaning: 'The catalogue has no automation with this `_id`, or the caller may not see it: the reply is the same for both.',
    remedy:
      'Compare the `_id` with the listing, or ask for one of the caller’s groups to be added to `gbac.read` or `gbac.write`.',
  },
  'form-not-found': {
    meaning: 'The gateway has no form with this id.',
    remedy: 'Compare the id with the listing of forms; ids are case-sensitive.',
  },
  'approval-not-found': {
    meaning: 'No approval has the id, or the caller may not see it. Its caller, its approvers and the role admin may.',
    remedy: 'Take the id from `GET /approvals`, or from the reply that asked for the approval.',
  },
  'body-not-found': {
    meaning:
      'The audit log has no body with this id. The record is no change, it sent nothing, or its body went because the space for bodies was full.',
    remedy:
      'Take the id from a record with `bodySha256`, with `_` in place of `/`. To keep bodies for longer, raise `audit.bodiesMaxSize`.',
  },
  'method-not-allowed': {
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use a method that the `Allow` header names.',
  },
  'request-timeout': {
    meaning: 'The request arrived too slowly: the limit is 10 seconds for its headers and 30 for all of it.',
    remedy: 'Send it again on a new connection; check for a slow link, or a client whose `Content-Length` is more than it sends.',
  },
  'automation-exists': {
    meaning: 'Another automation has this name; names are compared exactly. Nothing was changed.',
    remedy: 'Choose another name, or change the automation that has this one.',
  },
  'approval-granted': {
    meaning: 'The approval has all of its grants.',
    remedy: 'Nothing is left to grant: its caller can make the call. An approver can still reject it.',
  },
  'approval-used': {
    meaning: 'A call was made with the approval. An approval lets one call pass.',
    remedy: 'For a further call send it without the header `Approval`, and the gateway asks for a new approval.',
  },
  'approval-rejected': {
    meaning: 'An approver rejected the call. Nothing was sent.',
    remedy: '`detail` has the reason. After a change of plan send the call without the header `Approval`.',
  },
  'approval-expired': {
    meaning: 'The approval was not granted and used in time, or the run that asked for it has ended.',
    remedy: 'Send the call without the header `Approval`, and the gateway asks for a new approval.',
  },
  'configuration-invalid': {
    meaning:
      'The reload failed: the configuration file, or a file that it names, has problems. The gateway keeps its current configuration.',
    remedy: 'Correct each place that `errors` lists with file, line and column; then reload again.',
  },
  'idempotency-key-in-use': {
    meaning:
      'The first request with this Idempotency-Key has not ended yet, at this or another gateway. Nothing was sent for this one.',
    remedy: 'Send the same request again after `Retry-After`, until it gets the first reply.',
  },
  'reply-not-kept': {
    meaning:
      'The call of the first request with this Idempotency-Key has ended, but its reply was not kept. It is longer than 1 MiB, or the store had no room for it. Nothing was sent for this one.',
    remedy: 'Query the upstream for the result. To repeat the call, send it with another key.',
  },
  'no-dry-run': {
    meaning:
      'The call has no dry run: its adapter instance, method, path or parameters allow none, or the node does not prove that it is NSO. Nothing of the call was sent. The preview route answers 200 with `kind` `none`, and the audit log has this code.',
    remedy: '`reason` of the preview says why. Send the call itself only after another check.',
  },
  'form-in-use': {
    meaning: 'An automation names the form in `data.formId`, so it cannot be deleted.',
    remedy: 'Change or delete the automations that name it, then delete the form.',
  },
  'reload-unavailable': {
    meaning: 'The gateway has no configuration file to read again, or it is stopping.',
    remedy: 'Start the gateway with `serve --config FILE`; after that, changes of the file can be reloaded.',
  },
  'precondition-failed': {
    meaning:
      'The automation or form has no entity tag of `If-Match`, since it has changed, or it has one of `If-None-Match`. Nothing was changed.',
    remedy: 'Read it again, repeat the change on its current state, and send the new tag.',
  },
  'import-too-large': {
    meaning: 'The import has more than 20,000 documents or 64 MiB, and nothing of it was stored.',
    remedy: 'Send several imports, one after the other.',
  },
  'body-too-large': {
    meaning:
      'The request body is larger than `server.requestBodyLimit` and was not read to its end, or an automation would be larger than 1 MiB.',
    remedy: 'Send less, or ask the operator to raise the limit of the body.',
  },
  'unsupported-media-type': {
    meaning: 'The route does not take the declared media type or charset of the body, or the body is compressed.',
    remedy:
      'Send the media type that the `Accept` header (`Accept-Patch` for PATCH) of the reply names, in UTF-8 and without `Content-Encoding`.',
  },
  'idempotency-key-reused': {
    meaning:
      'The same caller sent this Idempotency-Key with another payload within the last 24 hours, to the same path and adapter instance. Nothing was sent for this one.',
    remedy: 'Repeat a request byte for byte; give each other request its own key, such as a random UUID.',
  },
  'quota-reached': {
    meaning:
      'The runs, events, approvals, waiting calls of agents and documents of the caller take as much of the store as one person may have (`automations.storePerPerson`). A schedule of that person skips its due times.',
    remedy: 'Wait until runs are older than `automations.retention`, or ask the operator for more. Runs under way go on.',
  },
  'too-many-requests': {
    meaning:
      'The caller has used up its calls under `server.rateLimit`, or has 1,000 open approvals, questions of runs included, or open approvals with 100 MiB together. Or the gateway already verifies as many logins as it can at once.',
    remedy:
      'Wait as long as `Retry-After` says. A token from `/login` needs no password verification; the operator can raise the rate limit.',
  },
  'login-throttled': {
    meaning: 'Too many logins failed for this account or from this address, so each further attempt has to wait.',
    remedy: 'Wait as long as `Retry-After` says, then send the right password. Valid tokens still work.',
  },
  'headers-too-large': {
    meaning: 'The request has more than 16 KiB of headers, or more than 100 of them.',
    remedy: 'Send fewer or shorter headers; the usual cause is cookies of other services.',
  },
  'internal-error': {
    meaning: 'The gateway has a fault. Its log has the cause, the reply has not.',
    remedy: 'Give the `requestId` to the operator, who finds the cause in the log with it.',
  },
  'upstream-error': {
    meaning: 'The orchestrator answered the action or query with a status of 400 or above.',
    remedy:
      '`upstream` has its status, media type and body; `detail` has its error tag and message. Correct what the message names. After 401 the operator corrects `auth` of the adapter instance.',
  },
  'upstream-dns-failed': {
    meaning: 'The host name of the upstream has no address, or no name server answered.',
    remedy: 'Check the name in `uri` or in the adapter’s `url`, and the name servers of the gateway’s machine.',
  },
  'upstream-connect-failed': {
    meaning:
      'The gateway could not connect: the upstream or its proxy refused or is unreachable, or an open connection broke before the call was written. Nothing of a change was sent there; a query may have arrived in an earlier attempt. Where a redirect led there, `detail` says that the call itself was answered.',
    remedy:
      'Check the address, the port and the firewall. Unless `detail` says that the call was answered, it is safe to send it again.',
  },
  'upstream-tls-failed': {
    meaning:
      'The TLS handshake with the upstream failed; the usual cause is a certificate that the gateway does not trust. Nothing of a change was sent; a query may have arrived in an earlier attempt.',
    remedy: 'Check the certificate and the names in it; a private CA is configured as `tls.caFile`.',
  },
  'upstream-closed': {
    meaning:
      'The upstream closed or reset the connection before its reply was complete. Where the reply had begun, `upstream.status` has its status.',
    remedy: 'Look at the upstream’s own log. It is safe to send a GET again.',
  },
  'upstream-protocol-error': {
    meaning:
      'The upstream’s bytes are not an HTTP/1.1 reply, or its body is not what its headers say. Where that shows only after the reply to the caller began, the gateway resets the caller’s connection.',
    remedy: 'Check that the port serves HTTP, and that it serves TLS only where the address is https.',
  },
  'response-too-large': {
    meaning:
      'The reply of the upstream is larger than `responseLimit` after decompression, or the gateway has no memory left to read it; `detail` says which.',
    remedy:
      'Ask for less (`fields`, `depth`, paging), or ask the operator to raise the limit. The upstream has carried out the call.',
  },
  'too-many-redirects': {
    meaning: 'The upstream redirected the REST call more often than `outbound.redirects` allows.',
    remedy: 'Call the final address directly; check for a redirect loop.',
  },
  'redirect-refused': {
    meaning:
      'The orchestrator answered with a redirect. The gateway never follows it: the credentials of the adapter instance are for its configured addresses only.',
    remedy: 'Call the address that the redirect names, or ask the operator to correct the adapter’s `url`.',
  },
  'stream-refused': {
    meaning:
      'The upstream answers with an event stream (`text/event-stream`) without a length. Such a reply need not end, and the gateway relays only replies that end.',
    remedy:
      'Ask for another media type in `accept`, or in the `Accept` of a REST call, or read the stream directly from the upstream. `upstream.status` says what the upstream answered: a state-changing call was carried out, or refused there.',
  },
  'outcome-unknown': {
    meaning:
      'A state-changing call left the gateway and got no complete reply. It may have been carried out or not; the gateway does not send it again. The status is 504 after a time-out, otherwise 502. It is 409 where a request repeats the Idempotency-Key of such a call.',
    remedy:
      'Check at the upstream whether the call was carried out. Then decide whether to send it again, with a new Idempotency-Key if it has one.',
  },
  'adapter-busy': {
    meaning:
      'An address of the adapter instance has `concurrency` calls in flight, and `queue` more calls wait. Nothing of a change was sent; a query may have arrived in an earlier attempt.',
    remedy: 'Send the call again after `Retry-After`, or ask the operator to raise `concurrency` or `queue`.',
  },
  'adapter-unavailable': {
    meaning:
      'The orchestrator failed repeatedly, so the gateway refuses calls to it for a while, or the gateway has no token for it. No change was sent; a query may have arrived in an earlier attempt.',
    remedy:
      'Send the call again after `Retry-After`. The operator checks the orchestrator, whose last failure `detail` names, or the token endpoint that `detail` names.',
  },
  'credentials-refused': {
    meaning:
      'The orchestrator answered 401 to the newest credentials of the adapter instance twice, and to a probe too. The gateway sends nothing with them, so that a directory does not lock the account. Nothing of this call was sent.',
    remedy:
      'Send the call again after `Retry-After`. The operator corrects the secret at its source, and tests the adapter instance (`POST /adapters/:adapterId/test`).',
  },
  overloaded: {
    meaning:
      'The event loop is more than 250 ms late, memory is short, or the requests in flight have reached the limit of open files. The gateway refuses calls and logins, and answers health and metrics. A listing or an export of automations also gets this error if it waits too long for others.',
    remedy:
      'Send the request again after `Retry-After`, or to another gateway. If the overload lasts, the operator checks `/metrics` and adds gateways, memory or open files (`ulimit -n`).',
  },
  'audit-unavailable': {
    meaning:
      'The intent of a state-changing call cannot be written to the audit log in time, so the call did not leave. Where `detail` says that the call was redirected, the redirect was not followed.',
    remedy:
      'Send the request again after `Retry-After`, with a new Idempotency-Key if it was redirected. The operator checks `/readyz` and the log.',
  },
  'issuer-unavailable': {
    meaning:
      'The gateway cannot get the key documents of the token’s OpenID Connect issuer. Or the token names a key that may be newer than the documents, and the gateway may not ask again so soon. The token may be valid.',
    remedy:
      'Send the request again after `Retry-After`, with the same token. If it lasts, the operator checks the issuer and the log.',
  },
  'store-unavailable': {
    meaning:
      'The database of the gateway cannot be reached, or it takes no writes, as on a full disk or during a failover. `detail` says which.',
    remedy: 'Send the request again after `Retry-After`. The operator checks `/readyz` and the log.',
  },
  'upstream-timeout': {
    meaning:
      'A time limit passed before the reply of the upstream was complete; `detail` names the phase (DNS, connect, first byte, idle, total). Where the reply had begun, `upstream.status` has its status.',
    remedy:
      'Check the upstream, ask for less, or ask the operator to raise the limit. `Prefer: wait` can shorten the limit, never lengthen it.',
  },
};
