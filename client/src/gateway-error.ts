import type { Problem } from './generated/types.gen.ts';

/** The closed table of errors that a gateway answers with: docs/reference/errors.md. */
export type ErrorCode = Problem['code'];

/**
 * What this client adds to the table. `no-reply`: no reply came, or it broke off; a call that changes something may have happened.
 * `no-gateway`: the reply is not one of a gateway, such as the error page of a proxy.
 */
export type ClientErrorCode = 'no-reply' | 'no-gateway';

interface ErrorFacts {
  readonly code: ErrorCode | ClientErrorCode;
  readonly status?: number | undefined;
  readonly problem?: Problem | undefined;
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** Why a call has no result. The message is the gateway's own `detail`: what is wrong, and what to do about it. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode | ClientErrorCode;
  /** The HTTP status; undefined with `no-reply`. */
  readonly status: number | undefined;
  /** The whole reply of a gateway. */
  readonly problem: Problem | undefined;
  /** Seconds, from `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { code, status, problem, retryAfter, cause }: ErrorFacts) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  /** Whether the same question may get an answer later: no reply came, or a gateway or a proxy is busy. */
  get isTemporary(): boolean {
    return this.code === 'no-reply' || busy.has(this.status);
  }
}

const busy: ReadonlySet<number | undefined> = new Set([408, 429, 502, 503, 504]);

/** The error that a reply is. */
export function errorOf({ status, headers }: Pick<Response, 'status' | 'headers'>, text: string): GatewayError {
  const retryAfter = secondsIn(headers.get('retry-after'));
  const body = objectIn(text);
  if (typeof body['code'] === 'string' && typeof body['detail'] === 'string') {
    const problem = body as unknown as Problem;
    return new GatewayError(problem.detail, { code: problem.code, status, problem, retryAfter });
  }
  if (typeof body['error'] === 'string') return tokenError(status, body, retryAfter);
  return new GatewayError(`The reply with status ${status} is not one of a gateway.`, { code: 'no-gateway', status, retryAfter });
}

/** `/oauth/token` answers in the shape of RFC 6749, section 5.2. */
function tokenError(status: number, body: Readonly<Record<string, unknown>>, retryAfter: number | undefined): GatewayError {
  const words = body['error_description'] ?? body['error'];
  return new GatewayError(String(words), { code: tokenCodes[status] ?? 'invalid-request', status, retryAfter });
}

const tokenCodes: Readonly<Partial<Record<number, ErrorCode>>> = {
  401: 'unauthenticated',
  403: 'cross-site',
  429: 'login-throttled',
  500: 'internal-error',
  503: 'overloaded',
};

function secondsIn(value: string | null): number | undefined {
  return value !== null && /^\d{1,6}$/u.test(value) ? Number(value) : undefined;
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
