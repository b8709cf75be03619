import { Type } from '#base/json-schema.ts';
import { json, type Route } from '#http/route.ts';
import { closedObject } from '#json/closed-object.ts';
import { operatorAction } from './route-traits.ts';

/** What a reload changed; names only. */
interface Reloaded {
  readonly adapters: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>;
  readonly settings: readonly string[];
  readonly restartNeeded: readonly string[];
}

const names = (description: string) => Type.Array(Type.String(), { description });

/** `reload` rejects with `configuration-invalid` or `reload-unavailable`. */
export function reloadRoutes(reload: () => Promise<Reloaded>): readonly Route[] {
  return [
    {
      method: 'POST',
      url: '/adapters/reload',
      access: ['admin'],
      handle: async () => json(200, await reload()),
      ...operatorAction,
      docs: {
        tag: 'operations',
        operationId: 'reloadAdapters',
        summary: 'Take the configuration file in again, as SIGHUP does',
        description:
          'All of it or nothing: adapter instances, users, clients, issuers, outbound policy, rate limit, log level and TLS certificate. Calls in flight finish with what they began with; adapter instances whose configuration stays are left alone.',
        success: {
          status: 200,
          description: 'It is in force.',
          schema: closedObject({
            adapters: closedObject({
              added: names('Adapter instances that are new.'),
              removed: names('Adapter instances that are gone.'),
              changed: names('Adapter instances that were made anew.'),
              unchanged: names('Adapter instances that kept their connections, queue and standing.'),
            }),
            settings: names('Other keys whose values changed, and are in force.'),
            restartNeeded: names('Keys that changed since the start, and that only a restart puts in force.'),
          }),
        },
        errors: ['configuration-invalid', 'reload-unavailable'],
        example: {
          reply: {
            adapters: { added: ['Lab NSO'], removed: [], changed: ['Local NSO'], unchanged: [] },
            settings: ['access.users', 'outbound.allow'],
            restartNeeded: ['server.port'],
          },
        },
      },
    },
  ];
}
