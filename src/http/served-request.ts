import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import type { RequestScope } from './request-scope.ts';
import type { Route } from './route.ts';

/** An inbound request with Node's request and reply, its route, its caller and its body, as far as they are known. */
export class ServedRequest {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined where no route takes it. */
  readonly route: Route | undefined;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly scope: RequestScope;
  /** Ends the time limit of its body. */
  readonly endBodyTime: () => void;
  /** Undefined until the caller is authenticated. */
  caller: Authentication | undefined;
  /** Undefined until the body is read, and where there is none. */
  body: Buffer | undefined;

  constructor(options: Pick<ServedRequest, 'raw' | 'response' | 'route' | 'params' | 'scope' | 'endBodyTime'>) {
    this.raw = options.raw;
    this.response = options.response;
    this.route = options.route;
    this.params = options.params;
    this.scope = options.scope;
    this.endBodyTime = options.endBodyTime;
  }
}
