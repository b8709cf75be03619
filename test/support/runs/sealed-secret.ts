import { Secret } from '../../../src/base/secret.ts';
import type { SealedSecret } from '../../../src/runs/tasks/sealed-secret.ts';

/** A secret that every workflow and author may use. `rule`: what differs; without it no call can carry the secret. */
export function sealedSecret(value: string, rule: Partial<SealedSecret> = {}): SealedSecret {
  const everybody = { roles: ['admin', 'engineering', 'readonly'], groups: [] } satisfies SealedSecret['writers'];
  return {
    value: new Secret(value),
    workflows: ['*'],
    writers: everybody,
    destinations: [],
    adapters: [],
    places: ['authentication', 'header:authorization'],
    ...rule,
  };
}
