const ownTypes = ['orchestration-gateway.', 'io.serverlessworkflow.'] as const;

/** Set on each event: its sender, and for `emit` the id of the workflow. */
const ownAttributes: ReadonlySet<string> = new Set(['sender', 'workflow']);

export function isOwnAttribute(name: string): boolean {
  return ownAttributes.has(name);
}

/** Predicate; undefined where others may give the attribute this value. */
export function whyOwn(name: string, value: unknown): string | undefined {
  if (isOwnAttribute(name)) return 'is an attribute that the gateway sets itself; leave it out';
  if (typeof value !== 'string') return undefined;
  if (name === 'source' && value.startsWith('/'))
    return 'begins with /, as only the sources of the gateway do; write an address such as https://example.net/source';
  const own = name === 'type' ? ownTypes.find((prefix) => value.startsWith(prefix)) : undefined;
  return own === undefined ? undefined : `begins with ${own}, as only the types of the gateway do`;
}

interface EventOrigin {
  readonly sender: string;
  readonly workflow?: string;
}

/** Keeps the other bytes. `event`: JSON text of an object with at least one member. */
export function withOrigin(event: string, { sender, workflow }: EventOrigin): string {
  const attributes = JSON.stringify({ sender, workflow });
  return `${event.trimEnd().slice(0, -1)},${attributes.slice(1)}`;
}
