import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AssertionOptions, createAssertionVerifier } from './front/assertions.ts';
import { createFront } from './front/front.ts';
import { createExampleNetwork } from './model/example-network.ts';
import type { DemoRelease } from './model/transaction.ts';

/** Options of the demo orchestrator; every member has a default. */
export interface DemoOrchestratorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Name of the user with all rights; default `admin`. */
  readonly username?: string;
  /** The password of both users; default `admin`. */
  readonly password?: string;
  /** Name of the user who may only read and gets 403 for every write; default `readonly-demo`. */
  readonly readOnlyUsername?: string;
  /** Which version of NSO it is like; default `6.4`. `6.7` takes commit parameters as one JSON object, and its YANG library says so. */
  readonly release?: DemoRelease;
  /** Accepts assertions of a gateway (`deploy/nso/verify-assertion`), in `X-Auth-Token` or as a password; needs `python3`. */
  readonly assertions?: AssertionOptions;
  /** Makes the trace id of a request without one; default a random UUID. */
  readonly traceIds?: () => string;
}

/** A running demo orchestrator. */
export interface DemoOrchestrator {
  /** Its address without a slash at the end: `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Aborts all connections, also within a reply. Afterwards nothing keeps the process alive. */
  close(): Promise<void>;
}

/**
 * Starts a stand-in for Cisco NSO: RESTCONF below `/restconf` and the legacy API below `/api`, over HTTP, in memory. Each start
 * has the same 50 devices. It is for trials and tests of the gateway. It is not NSO, and not safe to expose.
 * Rejects where the port cannot be bound.
 */
export async function startDemoOrchestrator(options: DemoOrchestratorOptions = {}): Promise<DemoOrchestrator> {
  const host = options.host ?? '127.0.0.1';
  const { release = '6.4', traceIds = () => crypto.randomUUID() } = options;
  const verifier = options.assertions && (await createAssertionVerifier(options.assertions));
  const answer = createFront({
    verifier,
    orchestrator: createExampleNetwork(release),
    users: usersOf(options),
    traceIds,
  });
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => void answer(request, response));
  await listening(server, options.port ?? 0, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all([closed, verifier?.close()]);
    },
  };
}

function usersOf({
  username: name = 'admin',
  password = 'admin',
  readOnlyUsername = 'readonly-demo',
}: DemoOrchestratorOptions): Parameters<typeof createFront>[0]['users'] {
  return [
    { name, password, rights: 'all' },
    { name: readOnlyUsername, password, rights: 'read' },
  ];
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
