/**
 * Every error that the gateway can answer with: HTTP status and title by `code`. http/documentation/openapi-error-guide.ts says what
 * each means for a caller. The table is closed: a test compares it with docs/reference/errors.md, and OpenAPI is made from it.
 * 4xx is a fault of the request, 502 and 504 of the far side. With 503 the gateway or an adapter cannot take the call now.
 */
export const errorCodes = {
  'malformed-request': { status: 400, title: 'The HTTP request is malformed' },
  'invalid-json': { status: 400, title: 'The request body is not acceptable JSON' },
  'invalid-request': { status: 400, title: 'The request does not fit its schema' },
  'workflow-invalid': { status: 400, title: 'The document is no workflow' },
  unauthenticated: { status: 401, title: 'Authentication is required' },
  forbidden: { status: 403, title: 'Your roles do not allow this' },
  'cross-site': { status: 403, title: 'The request comes from another site' },
  'destination-denied': { status: 403, title: 'The outbound policy denies this destination' },
  'path-denied': { status: 403, title: 'The adapter instance does not allow this path' },
  'not-found': { status: 404, title: 'There is no such route' },
  'adapter-not-found': { status: 404, title: 'There is no such adapter instance' },
  'automation-not-found': { status: 404, title: 'There is no such automation' },
  'workflow-not-found': { status: 404, title: 'There is no such workflow' },
  'method-not-allowed': { status: 405, title: 'The route does not know this method' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'automation-exists': { status: 409, title: 'Another automation has this name' },
  'configuration-invalid': { status: 409, title: 'The configuration cannot be used' },
  'idempotency-key-in-use': { status: 409, title: 'The call of this Idempotency-Key is under way' },
  'reply-not-kept': { status: 409, title: 'The reply of this Idempotency-Key was not kept' },
  'workflow-exists': { status: 409, title: 'This version of the workflow has other content' },
  'workflow-in-use': { status: 409, title: 'An automation names the workflow' },
  'reload-unavailable': { status: 409, title: 'There is no configuration to reload' },
  'precondition-failed': { status: 412, title: 'A condition of the request does not hold' },
  'body-too-large': { status: 413, title: 'The request body is over the limit' },
  'unsupported-media-type': { status: 415, title: 'The request body has an unsupported media type' },
  'idempotency-key-reused': { status: 422, title: 'The Idempotency-Key came with another payload' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'login-throttled': { status: 429, title: 'Too many failed logins' },
  'headers-too-large': { status: 431, title: 'The request headers are over the limit' },
  'internal-error': { status: 500, title: 'The gateway failed' },
  'upstream-error': { status: 502, title: 'The orchestrator answered with an error' },
  'upstream-dns-failed': { status: 502, title: 'The name of the far side could not be resolved' },
  'upstream-connect-failed': { status: 502, title: 'No connection to the far side' },
  'upstream-tls-failed': { status: 502, title: 'TLS to the far side failed' },
  'upstream-closed': { status: 502, title: 'The far side broke the connection off' },
  'upstream-protocol-error': { status: 502, title: 'The far side answered with malformed HTTP' },
  'response-too-large': { status: 502, title: 'The reply of the far side is over the limit' },
  'too-many-redirects': { status: 502, title: 'The far side redirects too often' },
  'redirect-refused': { status: 502, title: 'The redirect of the far side is not followed' },
  'stream-refused': { status: 502, title: 'The endless reply of the far side is not relayed' },
  'outcome-unknown': { status: 502, title: 'The call left and was not answered: it may or may not have happened' },
  'adapter-busy': { status: 503, title: 'The adapter instance has no room for the call' },
  'adapter-unavailable': { status: 503, title: 'The adapter instance is unavailable' },
  overloaded: { status: 503, title: 'The gateway is overloaded' },
  'audit-unavailable': { status: 503, title: 'The call cannot be put on record' },
  'issuer-unavailable': { status: 503, title: 'The issuer of the token cannot be asked' },
  'store-unavailable': { status: 503, title: 'The store is unavailable' },
  'upstream-timeout': { status: 504, title: 'The far side did not answer in time' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** The errors of any call to a far side whose reply is absent or cannot be passed on. */
export const farSideErrors: readonly ErrorCode[] = [
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
  'upstream-closed',
  'upstream-protocol-error',
  'upstream-timeout',
  'response-too-large',
  'stream-refused',
];
