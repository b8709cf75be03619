/** Error tags of RESTCONF that the demo uses (RFC 8040, section 7). */
type ErrorTag =
  | 'access-denied'
  | 'data-exists'
  | 'invalid-value'
  | 'lock-denied'
  | 'malformed-message'
  | 'operation-failed'
  | 'operation-not-supported'
  | 'too-big'
  | 'unknown-element';

interface OrchestratorErrorOptions {
  readonly status: number;
  readonly tag: ErrorTag;
  readonly message?: string;
  /** The place of the error, as an instance path such as `/tailf-ncs:devices/device=ce0`. */
  readonly path?: string;
  readonly type?: 'application' | 'protocol';
  /** Further reply headers, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal with the HTTP status and RESTCONF error of its reply. Each dialect has its own form of the body. */
export class OrchestratorError extends Error {
  readonly status: number;
  readonly tag: ErrorTag;
  readonly path: string | undefined;
  readonly type: 'application' | 'protocol';
  readonly headers: Readonly<Record<string, string>>;

  constructor(options: OrchestratorErrorOptions) {
    super(options.message ?? '');
    this.status = options.status;
    this.tag = options.tag;
    this.path = options.path;
    this.type = options.type ?? 'application';
    this.headers = options.headers ?? {};
  }
}

/** For absent data and for a path unknown to the schema, which NSO 6.x answers alike. */
export function notFound(): OrchestratorError {
  return new OrchestratorError({ status: 404, tag: 'invalid-value', message: 'uri keypath not found' });
}

export function invalidValue(message: string, path?: string): OrchestratorError {
  return new OrchestratorError({ status: 400, tag: 'invalid-value', message, ...(path === undefined ? {} : { path }) });
}

export function malformed(message: string, path?: string): OrchestratorError {
  return new OrchestratorError({ status: 400, tag: 'malformed-message', message, ...(path === undefined ? {} : { path }) });
}

export function unknownElement(name: string, path: string): OrchestratorError {
  return new OrchestratorError({ status: 400, tag: 'unknown-element', message: `unknown element: ${name} in ${path}`, path });
}

/** A failed write or action: 500 where a device refused, 502 where a device is unreachable or out of sync. */
export function operationFailed(status: 500 | 502, message: string, path: string): OrchestratorError {
  return new OrchestratorError({ status, tag: 'operation-failed', message, path });
}

export function methodNotAllowed(allow: string): OrchestratorError {
  return new OrchestratorError({
    status: 405,
    tag: 'operation-not-supported',
    message: `this resource allows ${allow}`,
    headers: { Allow: allow },
  });
}
