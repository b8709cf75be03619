import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import type { RequestScope } from './request-scope.ts';
import type { Route } from './route.ts';

/** A request of a caller with its reply, from its head on, and what is known of it by now. */
export class ServedRequest {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined where no route takes it. */
  readonly route: Route | undefined;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly scope: RequestScope;
  /** Ends the watch over the time its body takes. */
  readonly endBodyTime: () => void;
  /** Undefined until it is known. */
  caller: Authentication | undefined;
  /** Undefined until it is read, and where there is none. */
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
