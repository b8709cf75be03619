import { resolve } from 'node:path';
import type { Owner } from '../../test/support/owner.ts';
import { startSurroundings } from './answering-upstream.ts';
import { type Route, startThisGateway } from './subjects.ts';

/** Runs the gateway alone under load with V8's profiler, which writes a profile of each thread into `directory`. */
export async function profile(
  owner: Owner,
  { directory, route, seconds, callers }: Readonly<Record<'directory' | 'route', string> & Record<'seconds' | 'callers', number>>,
): Promise<void> {
  const surroundings = await startSurroundings(owner);
  const nodeArguments = ['--cpu-prof', `--cpu-prof-dir=${resolve(directory)}`];
  const gateway = await startThisGateway(owner, { ...surroundings, nodeArguments });
  const request = gateway.request(route as Route);
  const { calls, p50, p99 } = await surroundings.load({ port: gateway.port, request, callers, milliseconds: seconds * 1000 });
  await gateway.stop();
  console.log(
    `${route}: ${calls} calls in ${seconds} s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; profiles in ${directory}`,
  );
}
