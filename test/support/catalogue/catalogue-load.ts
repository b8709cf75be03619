import { type Connection, openConnection, type Reply, type Request, requestBytes, send } from '../callers/http-client.ts';
import { type Gateway, testPassword, testPasswordHash } from '../gateway/start-gateway.ts';
import { seededRandom } from '../seeded-random.ts';
import { CatalogueLedger } from './catalogue-ledger.ts';
import type { ProofCallers } from './catalogue-proof.ts';
import { CatalogueWriter, readerGroup } from './catalogue-writer.ts';

/** Users that the gateway of a proof must have. */
export const proofUsers = [
  { username: 'crash-reader', passwordHash: testPasswordHash, roles: ['readonly'], groups: [readerGroup] },
];

/** Logs in both callers of a proof; their tokens are valid on every gateway of the store, and after a restart. */
export async function proofCallers(gateway: Gateway): Promise<ProofCallers> {
  const reader = await send(gateway.port, {
    method: 'POST',
    target: '/login',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: 'crash-reader', password: testPassword }),
  });
  if (reader.status !== 200) throw new Error(`login: ${reader.status} ${reader.text}`);
  return {
    admin: `Bearer ${await gateway.tokenFor('admin')}`,
    reader: `Bearer ${(reader.json() as { readonly token: string }).token}`,
  };
}

/** The port for the next write of a lane, called for each write. Undefined ends the lane. */
type Target = (lane: number) => number | undefined;

interface CatalogueLoadOptions {
  readonly seed: number;
  readonly lanes: number;
  readonly authorization: string;
  readonly mayBeRefused?: boolean;
}

/** Several writers at the same time, each with one write after the other. One ledger has what they wrote. */
export interface CatalogueLoad {
  readonly ledger: CatalogueLedger;
  /**
   * Writes until `port` answers undefined, or for a lane until its connection fails where `once` is true. `wrote` is called
   * for every answered write. Rejects where a reply is not as documented.
   */
  run(options: { readonly port: Target; readonly once?: boolean; readonly wrote?: (reply: Reply) => void }): Promise<void>;
}

export function catalogueLoad({ seed, lanes, authorization, mayBeRefused = false }: CatalogueLoadOptions): CatalogueLoad {
  const ledger = new CatalogueLedger();
  const lines = Array.from({ length: lanes }, (_, lane) => {
    const line = new Line(authorization);
    const random = seededRandom(seed * 31 + lane);
    return { line, writer: new CatalogueWriter({ lane: `lane${lane}`, random, ledger, send: line.send, mayBeRefused }) };
  });
  return {
    ledger,
    async run({ port, once = false, wrote }) {
      const results = await Promise.allSettled(
        lines.map(async ({ line, writer }, lane) => {
          for (let next = port(lane); next !== undefined; next = port(lane)) {
            line.port = next;
            const reply = await writer.write();
            if (reply?.complete === true) wrote?.(reply);
            else if (once) return;
            // A stopped gateway refuses at once: the pause leaves processor time for the others.
            if (reply === undefined || reply.status === 503) await new Promise((resolve) => setTimeout(resolve, 20));
          }
        }),
      );
      for (const { line } of lines) line.end();
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}

/** A persistent connection to one gateway, or to another one when the port changes. */
class Line {
  port = 0;
  readonly #authorization: string;
  #connected: { readonly port: number; readonly connection: Connection } | undefined;

  constructor(authorization: string) {
    this.#authorization = authorization;
  }

  readonly send = async (request: Request): Promise<Reply | undefined> => {
    const connection = await this.#connection();
    const headers = { ...request.headers, Authorization: this.#authorization, Connection: 'keep-alive' };
    connection.write(requestBytes(this.port, { ...request, headers }));
    const reply = await connection.reply();
    if (reply === undefined || !reply.complete || reply.header('connection') === 'close') this.end();
    return reply;
  };

  end(): void {
    this.#connected?.connection.socket.destroy();
    this.#connected = undefined;
  }

  async #connection(): Promise<Connection> {
    if (this.#connected?.port === this.port && !this.#connected.connection.socket.destroyed) return this.#connected.connection;
    this.end();
    const connection = await openConnection(this.port);
    this.#connected = { port: this.port, connection };
    return connection;
  }
}
