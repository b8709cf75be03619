import type { Call } from '#calls/call.ts';

/** `content`: the body as a value. `response`: with request, status and headers. `raw`: the body in base64. */
export type CallOutput = 'content' | 'response' | 'raw';

/** A call of a task, whose arguments have no problem. */
export interface PreparedCall {
  readonly call: Call;
  /** It may change something, so it is made once at most. */
  readonly changes: boolean;
  readonly output: CallOutput;
  /** What `output: response` says of the request. */
  readonly request: ShownRequest;
  /** True for a status that is no error. */
  readonly accepts: (status: number) => boolean;
}

/** A request without its credentials. */
export interface ShownRequest {
  readonly method: string;
  /** Of a call to an orchestrator: its path. The address belongs to the operator. */
  readonly uri: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const verbs = ['DELETE', 'GET', 'PATCH', 'PUT', 'POST'] as const;
