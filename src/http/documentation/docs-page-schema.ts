import type { JsonSchema } from '#base/json-schema.ts';
import { type Html, html, inline } from './html.ts';

/** The keywords of JSON Schema that the gateway's schemas use. */
interface SchemaView {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaView[];
  readonly items?: SchemaView;
  readonly properties?: Readonly<Record<string, SchemaView>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaView;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

/** Which members get a mark: the required ones of a request, the optional ones of a reply. */
type Marked = 'required' | 'optional' | 'nothing';

/** The members of a body as a list, a nested one as `params.path`. A body with several possible shapes becomes several lists. */
export function schemaFields(schema: JsonSchema, marked: Marked): Html {
  const view = schema as SchemaView;
  const shapes = view.anyOf ?? [view];
  const lists = shapes.map((shape) => fieldList(membersOf(shape, ''), marked));
  if (lists.length === 1) return html`${lists}`;
  return html`${lists.map((list, index) => html`<p class="or">${index === 0 ? 'Either' : 'or'}</p>${list}`)}`;
}

/** Whether the schema of a body has members to list. */
export function hasFields(schema: JsonSchema): boolean {
  const view = schema as SchemaView;
  return (view.anyOf ?? [view]).some((shape) => membersOf(shape, '').length > 0);
}

/** Parameters or headers, in the same form as the members of a schema. */
export function fieldList(fields: readonly Field[], marked: Marked): Html {
  const mark = (required: boolean): Html | undefined =>
    marked === (required ? 'required' : 'optional') ? html` <span class="${marked}">${marked}</span>` : undefined;
  return html`<dl class="fields">${fields.map(
    ({ name, type, required, description }) =>
      html`<dt><code>${name}</code> <span class="type">${type}</span>${mark(required)}</dt><dd>${inline(description)}</dd>`,
  )}</dl>`;
}

function membersOf(schema: SchemaView, prefix: string): readonly Field[] {
  if (schema.items !== undefined) return membersOf(schema.items, `${prefix}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([key, member]) => {
    const name = prefix === '' ? key : `${prefix}.${key}`;
    const required = schema.required?.includes(key) === true;
    return [{ name, type: typeOf(member), required, description: member.description ?? '' }, ...membersOf(member, name)];
  });
}

/** A short text for a schema's type, range and default. */
export function typeOf(schema: SchemaView): string {
  const byDefault = schema.default === undefined ? '' : `, default ${JSON.stringify(schema.default)}`;
  return `${withoutDefault(schema)}${byDefault}`;
}

function withoutDefault(schema: SchemaView): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  if (typeof schema.additionalProperties === 'object') return `object of ${typeOf(schema.additionalProperties)}`;
  return `${schema.format ?? schema.type ?? 'any'}${rangeOf(schema)}`;
}

function rangeOf({ minimum, maximum }: SchemaView): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? '' : ` up to ${maximum}`;
}
