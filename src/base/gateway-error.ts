import { type ErrorCode, errorCodes } from '#base/error-codes.ts';

/** One problem inside a request: an RFC 6901 JSON pointer into the body (or `?name` for a query parameter) and what to do about it. */
export interface RequestProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** What the far side answered, where the error speaks of its answer. `body` holds at most 64 KiB. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** Overrides the table's status: `outcome-unknown` is 504 on a time-out, 502 otherwise. */
  readonly status?: number;
  readonly errors?: readonly RequestProblem[];
  readonly upstream?: UpstreamAnswer;
  /** Headers of the reply that belong to the error, such as `Allow`, `Retry-After`, `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error with a code of the closed table. `message` becomes the problem's `detail`: it says what to do, and holds no secret. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly errors: readonly RequestProblem[] | undefined;
  readonly upstream: UpstreamAnswer | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.status = options.status ?? errorCodes[code].status;
    this.errors = options.errors;
    this.upstream = options.upstream;
    this.headers = options.headers ?? {};
  }
}
