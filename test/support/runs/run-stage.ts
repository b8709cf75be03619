import { type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { type CountingUpstream, countingUpstream } from './counting-upstream.ts';
import { type RunCaller, runCaller } from './run-caller.ts';

interface StageOptions {
  /** A value for `store.url`. */
  readonly url?: string | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  /** `automations.tasks`. */
  readonly tasks?: number;
  /** The executable of another version. */
  readonly program?: string;
}

/** An upstream that counts, a gateway whose adapter `Far` it is, and an admin who starts runs there. */
export async function runStage(
  owner: Owner,
  options: StageOptions = {},
): Promise<{ readonly far: CountingUpstream; readonly gateway: GatewayProcess; readonly caller: RunCaller }> {
  const far = await countingUpstream(owner);
  const gateway = await runGateway(owner, far, options);
  return { far, gateway, caller: await adminAt(gateway) };
}

/** `name`: the first segment of the paths that this gateway asks for. */
export function runGateway(
  owner: Owner,
  far: CountingUpstream,
  { url, environment = {}, name = '', tasks, program }: StageOptions & { readonly name?: string } = {},
): Promise<GatewayProcess> {
  return startGatewayProcess(owner, {
    config: { ...(url !== undefined && { store: { url } }), ...(tasks !== undefined && { automations: { tasks } }) },
    adapters: [{ name: 'Far', kind: 'rest', url: `${far.url}${name === '' ? '' : `/${name}`}`, concurrency: 64 }],
    environment,
    program,
  });
}

export async function adminAt(gateway: GatewayProcess): Promise<RunCaller> {
  const authorization = `Bearer ${await gateway.tokenFor('admin')}`;
  return runCaller(() => gateway, authorization);
}
