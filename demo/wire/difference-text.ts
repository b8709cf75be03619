import type { BranchDifference, Difference, ValueDifference } from '../model/difference.ts';
import type { YangModule } from '../model/schema.ts';
import { escapeXml } from './xml-text.ts';

/** The difference in NSO's curly-brace style, with `+` and `-` in the first column; empty for no difference. */
export function curlyText(all: readonly Difference[], indent = ' '): string {
  return all
    .map((difference) => {
      const start = difference.sign + indent;
      if (difference.kind === 'value') return `${start}${words(difference)};\n`;
      const name = [difference.schema.name, ...difference.keys].join(' ');
      return `${start}${name} {\n${curlyText(withoutKeys(difference), `${indent}    `)}${start}}\n`;
    })
    .join('');
}

/** The children of a list entry without its keys, which are in the line of the entry. */
function withoutKeys({ schema, children }: BranchDifference): readonly Difference[] {
  const keys = schema.kind === 'list' ? schema.keys : [];
  return children.filter((child) => child.kind === 'branch' || !keys.includes(child.schema.name));
}

function words({ schema, value }: ValueDifference): string {
  return value === null ? schema.name : `${schema.name} ${String(value)}`;
}

/** The difference as lines for a device with a command line: `no` removes, `exit` leaves a list entry. */
export function commandLines(all: readonly Difference[], indent = '', prefix = ''): string {
  return all
    .filter((difference) => !isReplaced(difference, all))
    .map((difference) => {
      const start = indent + (difference.sign === '-' ? 'no ' : '') + prefix;
      if (difference.kind === 'value') return `${start}${words(difference)}\n`;
      const { schema, keys, sign, children } = difference;
      if (schema.kind === 'container') return commandLines(children, indent, `${prefix}${schema.name} `);
      const line = `${start}${[schema.name, ...keys].join(' ')}\n`;
      return sign === '-' ? line : `${line}${commandLines(withoutKeys(difference), `${indent} `)}${indent}exit\n`;
    })
    .join('');
}

/** Whether this is the old value of a leaf that gets a new one; its removal needs no line. */
function isReplaced(difference: Difference, all: readonly Difference[]): boolean {
  if (difference.kind !== 'value' || difference.sign !== '-' || difference.schema.kind !== 'leaf') return false;
  return all.some((other) => other.schema === difference.schema && other.sign === '+');
}

/** The difference as an XML edit with `operation="delete"` (RFC 6241, 7.2), as NSO shows it for NETCONF devices. */
export function editXml(
  all: readonly Difference[],
  parent: Pick<YangModule, 'namespace'> = { namespace: '' },
  indent = '',
): string {
  return all
    .filter((difference) => !isReplaced(difference, all))
    .map((difference) => {
      const { name, module } = difference.schema;
      const namespace = module.namespace === parent.namespace ? '' : ` xmlns="${escapeXml(module.namespace)}"`;
      const start = `${indent}<${name}${namespace}${difference.sign === '-' ? ' operation="delete"' : ''}>`;
      if (difference.kind === 'value')
        return `${start}${escapeXml(difference.value === null ? '' : String(difference.value))}</${name}>\n`;
      const shown = difference.sign === '-' ? [] : difference.children;
      return `${start}\n${keyXml(difference, `${indent}  `)}${editXml(shown, module, `${indent}  `)}${indent}</${name}>\n`;
    })
    .join('');
}

/** The keys of an existing entry, which identify it. */
function keyXml(difference: Extract<Difference, { kind: 'branch' }>, indent: string): string {
  const { schema, sign, keys } = difference;
  if (schema.kind !== 'list' || sign === '+') return '';
  return schema.keys.map((key, index) => `${indent}<${key}>${escapeXml(keys[index] ?? '')}</${key}>\n`).join('');
}
