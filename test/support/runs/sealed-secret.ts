import { Secret } from '#base/secret.ts';
import type { SealedSecret } from '#runs/secrets/placeholders.ts';

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

/** A secret of `automations.secrets` that all workflows of admins may send to these places. */
export function secretConfig(value: object | string, rule: object): object {
  return { value, workflows: ['*'], writers: { roles: ['admin'] }, destinations: [], ...rule };
}
