import { type ErrorCode, errorCodes } from './error-codes.ts';

/** One problem of a request: a JSON pointer into the body (RFC 6901), or `?name` for a query parameter, and what to do about it. */
export interface RequestProblem {
  readonly pointer: string;
  readonly detail: string;
  /** In the text of a workflow document or a form, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** For a message that has the first of these problems. */
export function andMore({ length }: readonly RequestProblem[]): string {
  return length > 1 ? ` (and ${length - 1} more, see errors)` : '';
}

/** The upstream's reply, where the error is about it. `body` holds at most 64 KiB. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** The approval that a call needs. `expires`: ISO 8601. */
export interface NeededApproval {
  readonly id: string;
  readonly href: string;
  readonly expires: string;
}

export interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** Replaces the status of the table: `outcome-unknown` is 504 after a time limit, otherwise 502. */
  readonly status?: number;
  readonly errors?: readonly RequestProblem[];
  readonly upstream?: UpstreamAnswer;
  readonly approval?: NeededApproval;
  /** The operator's rule that refused the call, for the audit log. */
  readonly rule?: string;
  /** What the log says instead of the message, where that quotes a body. */
  readonly logged?: string;
  /** Reply headers that belong to the error, such as `Allow`, `Retry-After`, `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error with a code of the closed table. `message` becomes the `detail` of the problem: it says what to do and holds no secret. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly errors: readonly RequestProblem[] | undefined;
  readonly upstream: UpstreamAnswer | undefined;
  readonly approval: NeededApproval | undefined;
  readonly rule: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The message for the log. */
  readonly logged: string;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.status = options.status ?? errorCodes[code].status;
    this.errors = options.errors;
    this.upstream = options.upstream;
    this.approval = options.approval;
    this.rule = options.rule;
    this.headers = options.headers ?? {};
    this.logged = options.logged ?? message;
  }
}
