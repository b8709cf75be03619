import { isMap, isScalar } from 'yaml';
import { parseYaml } from '#yaml/yaml-text.ts';

export interface NamedDocument {
  /** `namespace.name` */
  readonly id: string;
  readonly version: string;
  /** The text with another version, and else as it was written. */
  readonly withVersion: (version: string) => string;
}

/** Undefined where the text has no namespace, name and version. */
export function namedDocument(text: string): NamedDocument | undefined {
  const { root } = parseYaml(text);
  const [namespace, name, version] = ['namespace', 'name', 'version'].map((member) => {
    const node = isMap(root) ? root.getIn(['document', member], true) : undefined;
    return isScalar(node) ? node : undefined;
  });
  const [start, end] = version?.range ?? [];
  if (namespace === undefined || name === undefined || version === undefined || start === undefined) return undefined;
  return {
    id: `${String(namespace.value)}.${String(name.value)}`,
    version: String(version.value),
    // In quotes it is the same in YAML and in JSON.
    withVersion: (other) => `${text.slice(0, start)}${JSON.stringify(other)}${text.slice(end)}`,
  };
}
