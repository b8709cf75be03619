import type { AdapterInstance } from './adapter-instance.ts';
import type { AdapterInstances } from './adapter-instances.ts';
import type { AdapterNode } from './adapter-node.ts';

/** The adapter instances as entrances and metrics see them: they can be looked at and tried, but only the call path sends. */
export interface KnownAdapters {
  /** See AdapterInstances. */
  find(name: string, shows?: (name: string) => boolean): KnownAdapter;
  all(): readonly KnownAdapter[];
  readonly states: AdapterInstances['states'];
}

export interface KnownAdapter extends Pick<AdapterInstance, 'kind' | 'name' | 'settings' | 'standing'> {
  readonly nodes: readonly KnownNode[];
}

export interface KnownNode extends Pick<AdapterNode, 'standing' | 'tryNow' | 'url'> {
  readonly breaker: Pick<AdapterNode['breaker'], 'state'>;
  readonly slots: Pick<AdapterNode['slots'], 'inFlight' | 'waiting'>;
}
