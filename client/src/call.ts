import type { GatewayError } from './gateway-error.ts';

/** How an operation is called; made from the OpenAPI document. */
export interface Operation {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** With `{name}` for path parameters. */
  readonly path: string;
  /** The media type of its request body. */
  readonly body?: string;
  /** How its list is paged. */
  readonly pages?: 'cursor' | 'skip';
  /** True for a stream of events. */
  readonly follows?: true;
  /** Who may call it: everyone, every caller with credentials, or callers with one of these roles. */
  readonly roles: 'everyone' | 'callers' | readonly string[];
}

/** What every call takes. */
export interface RequestOptions {
  /** Its abort rejects the call with the signal's reason. A change that has left may have happened. */
  readonly signal?: AbortSignal | undefined;
  /** A repetition of the call with the same key gets the reply of the first one. */
  readonly idempotencyKey?: string | undefined;
  /** The id of a granted approval of exactly this call. */
  readonly approval?: string | undefined;
  /** The media type of the request body, where the operation takes several. */
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The options of one operation. `rawBody` is sent as it is, so that numbers keep their digits. */
export type CallOptions<Data extends OperationData> = PartsOf<Data> & BodyOf<Data> & RequestOptions;

/** What is sent as it is. */
export type RawBody = NonNullable<RequestInit['body']>;

interface OperationData {
  readonly body?: unknown;
  readonly path?: unknown;
  readonly query?: unknown;
}

type PartsOf<Data extends OperationData> = Pick<Data, 'path' | 'query'>;

type BodyOf<Data extends OperationData> = [Data['body']] extends [undefined]
  ? { readonly body?: never; readonly rawBody?: never }
  : (Pick<Data, 'body'> & { readonly rawBody?: never }) | { readonly body?: never; readonly rawBody: RawBody };

/** What a follower of events takes. */
export type FollowOptions<Data extends OperationData> = PartsOf<Data> &
  Pick<RequestOptions, 'signal'> & {
    /** The position after which the events begin. */
    readonly after?: string | undefined;
    /** Called each time that the connection breaks, and is taken up again after that many milliseconds. */
    readonly onInterruption?: ((error: GatewayError, milliseconds: number) => void) | undefined;
    /** Called each time that the stream is open. */
    readonly onOpen?: (() => void) | undefined;
  };

/** A reply below 300. */
export interface Reply<Value> {
  /** Parsed where the reply is JSON, otherwise its text. Numbers are doubles. Parsed when it is read first. */
  readonly value: Value;
  /** The body as it came, with all digits of its numbers. */
  readonly text: string;
  readonly status: number;
  readonly headers: Headers;
}

/** A CloudEvent (specversion 1.0) of a run. */
export interface RunEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly subject?: string;
  readonly data?: unknown;
}

/** An event, and its place in the stream. */
export interface StreamedEvent {
  /** For `after`. */
  readonly position: string | undefined;
  readonly value: RunEvent;
  /** The event as it came, with all digits of its numbers. */
  readonly text: string;
}

/** What the front asks of a call, without the types of the operation. */
export interface AnyCallOptions extends RequestOptions {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly rawBody?: RawBody;
}

/** The shape of a page. */
export interface Page {
  readonly list: readonly unknown[];
  readonly cursor?: string;
  readonly total?: number;
}
