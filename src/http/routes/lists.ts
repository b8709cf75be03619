import { type JsonSchema, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { json, type RouteReply, type RouteRequest } from '../route.ts';

export const count = Type.Integer({ minimum: 0 });
export const time = Type.String({ format: 'date-time' });

/** The reply of a list whose next page begins at its `cursor`. */
export function cursorPage<Entry>(title: string, entry: JsonSchema<Entry>) {
  return {
    description: 'A page; `cursor` if there may be more.',
    schema: namedObject(title, {
      list: Type.Array(entry),
      cursor: Type.Optional(Type.String({ description: 'There may be more: `cursor` of the next page.' })),
    }),
  };
}

/** The reply of a list that counts its entries. */
export function countedPage<Entry>(title: string, entry: JsonSchema<Entry>) {
  return {
    description: 'A page, and the effective options.',
    schema: namedObject(title, { list: Type.Array(entry), total: count, skip: count, limit: count }),
  };
}

/** `isCut`: the page is shorter than its limit because of its bytes, which is counted. */
export function listReply<Page extends { readonly list: readonly unknown[] }>(
  { reached }: Pick<RouteRequest, 'reached'>,
  page: Page,
  isCut: boolean | undefined,
): RouteReply<Page> {
  if (isCut === true) reached('page');
  return json(200, page);
}

type IsoTime<At> = At extends number ? string : undefined;

/** `at`: milliseconds since the epoch; undefined where there is no time. */
export function isoTime<At extends number | undefined>(at: At): IsoTime<At> {
  return (at === undefined ? undefined : new Date(at).toISOString()) as IsoTime<At>;
}
