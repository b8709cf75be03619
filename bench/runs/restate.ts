/**
 * The services of Restate, which its server calls over HTTP/2. Each run is an invocation whose steps are in its journal. Started by
 * `restate-side.ts`: the port as its argument.
 */
import { createServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { jobNames, stepsOf } from './jobs.ts';
import { peerModule } from './peer-program.ts';

type Value = Readonly<Record<string, unknown>>;

interface Context {
  run(name: string, work: () => Value | Promise<Value>): Promise<Value>;
}

interface Restate {
  service(options: { readonly name: string; readonly handlers: object }): object;
  createEndpointHandler(options: {
    readonly services: readonly object[];
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

const [port = ''] = process.argv.slice(2);
const restate = await peerModule<Restate>('@restatedev/restate-sdk/dist/index.js');
const handlers = Object.fromEntries(
  jobNames.map((job) => [
    job,
    async (context: Context, given: Value & { readonly far: string }): Promise<Value> => {
      let value: Value = given;
      for (const [index, work] of stepsOf(job, given.far).entries()) {
        const before = value;
        value = await context.run(`step ${index + 1}`, async () => await work(before));
      }
      return value;
    },
  ]),
);
const server = createServer(restate.createEndpointHandler({ services: [restate.service({ name: 'bench', handlers })] }));
server.listen({ host: '127.0.0.1', port: Number(port) }, () => process.send?.('ready'));
process.on('disconnect', () => process.exit());
