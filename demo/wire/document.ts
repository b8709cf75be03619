import type { Scalar } from '../model/data-tree.ts';
import type { YangModule } from '../model/schema.ts';

/** A reply's content before it is written as JSON or XML; used for data and for action output. */
export type Content = LeafContent | LeafListContent | ContainerContent | ListContent;

export interface LeafContent {
  readonly kind: 'leaf';
  readonly name: string;
  readonly module: YangModule;
  readonly value: Scalar;
  /** The value is a number of more than 53 bits, which legacy JSON writes bare. */
  readonly long?: boolean;
}

export interface LeafListContent {
  readonly kind: 'leaf-list';
  readonly name: string;
  readonly module: YangModule;
  readonly values: readonly Scalar[];
}

export interface ContainerContent {
  readonly kind: 'container';
  readonly name: string;
  readonly module: YangModule;
  readonly children: readonly Content[];
}

export interface ListContent {
  readonly kind: 'list';
  readonly name: string;
  readonly module: YangModule;
  readonly entries: readonly (readonly Content[])[];
  /** Writes each entry as a member of its own, all with one name, like legacy JSON for rollback files. */
  readonly repeatsName?: boolean;
}

/** Constructors for content of one module, used for action output. */
export interface ContentBuilder {
  leaf(name: string, value: Scalar): LeafContent;
  values(name: string, values: readonly Scalar[]): LeafListContent;
  container(name: string, children: readonly Content[]): ContainerContent;
  list(name: string, entries: readonly (readonly Content[])[]): ListContent;
}

export function contentOf(module: YangModule): ContentBuilder {
  return {
    leaf: (name, value) => ({ kind: 'leaf', name, module, value }),
    values: (name, values) => ({ kind: 'leaf-list', name, module, values }),
    container: (name, children) => ({ kind: 'container', name, module, children }),
    list: (name, entries) => ({ kind: 'list', name, module, entries }),
  };
}
