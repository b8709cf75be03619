import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import type { RequestScope } from './request-scope.ts';
import type { Route } from './route.ts';

/** An inbound request with Node's request and reply, its route, its caller and its body, as far as they are known. */
export interface ServedRequest {
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
  caller?: Authentication;
  /** Undefined until the body is read, and where there is none. */
  body?: Buffer | undefined;
}
