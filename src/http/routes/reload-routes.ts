import { Type } from '#base/json-schema.ts';
import { json, type Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { operatorAction } from './route-traits.ts';

/** The changes of a reload; names only. */
interface Reloaded {
  readonly adapters: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>;
  readonly settings: readonly string[];
  readonly restartNeeded: readonly string[];
}

const names = (description: string) => Type.Array(Type.String(), { description });

/** `reload` rejects with `configuration-invalid` or `reload-unavailable`. */
export function reloadRoutes(
  reload: (asker: { readonly principal: string; readonly requestId: string }) => Promise<Reloaded>,
): readonly Route[] {
  return [
    {
      method: 'POST',
      url: '/adapters/reload',
      async handle({ context }) {
        const { principal, requestId } = context.record;
        return json(200, await reload({ principal: principal.username, requestId }));
      },
      ...operatorAction,
      docs: {
        tag: 'operations',
        operationId: 'reloadAdapters',
        summary: 'Reload the configuration file, as SIGHUP does',
        description:
          'Reloads adapter instances, users, clients, issuers, outbound policy, rate limit, log level and TLS certificate: all of them or none. Calls in flight keep the configuration that they began with. Adapter instances with an unchanged configuration stay as they are.',
        success: {
          status: 200,
          description: 'The new configuration is in force.',
          schema: namedObject('Reload', {
            adapters: namedObject('ReloadedAdapters', {
              added: names('New adapter instances.'),
              removed: names('Removed adapter instances.'),
              changed: names('Adapter instances with a changed configuration, which were created again.'),
              unchanged: names(
                'Adapter instances with an unchanged configuration, which kept their connections, queue and standing.',
              ),
            }),
            settings: names('Other keys with a changed value, which is now in force.'),
            restartNeeded: names('Keys that have changed since the start, and need a restart.'),
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
