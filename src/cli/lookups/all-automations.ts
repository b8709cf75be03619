import type { Automation, Gateway, ListAutomationsData } from '#client/gateway.ts';
import { exact } from '../gateway-session.ts';

/** Page after page, with the digits of their inputs. */
export async function* allAutomations(
  gateway: Gateway,
  query: NonNullable<ListAutomationsData['query']>,
): AsyncGenerator<Automation, void, undefined> {
  for (let skip = 0; ; ) {
    const { list, total } = exact(await gateway.listAutomations({ query: { ...query, skip } }));
    yield* list;
    skip += list.length;
    if (list.length === 0 || skip >= total) return;
  }
}
