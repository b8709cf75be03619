import type { AdapterInstance } from './adapter-instance.ts';
import type { AdapterInstances } from './adapter-instances.ts';
import type { AdapterNode } from './nodes/adapter-node.ts';

/** For entrances and metrics: only the call path sends. */
export interface KnownAdapters {
  find(name: string, shows?: (name: string) => boolean): KnownAdapter;
  all(): readonly KnownAdapter[];
  readonly states: AdapterInstances['states'];
}

export interface KnownAdapter
  extends Pick<AdapterInstance, 'callers' | 'findCommit' | 'kind' | 'name' | 'settings' | 'standing' | 'stamps'> {
  readonly nodes: readonly KnownNode[];
}

export interface KnownNode extends Pick<AdapterNode, 'namedPeople' | 'standing' | 'tryNow' | 'url'> {
  readonly breaker: Pick<AdapterNode['breaker'], 'state'>;
  readonly slots: Pick<AdapterNode['slots'], 'inFlight' | 'waiting'>;
}
