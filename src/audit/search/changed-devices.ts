import { type AuditFacts, storableText } from '../audit-entry.ts';

const maxDevices = 100;
/** Characters of the name of a device that are kept. */
const maxNameLength = 255;

/** The devices that a change names: those after `device=` in its path and in that of its approval, and those of its preview. */
export function changedDevices({ verb, address, approvalName, devices = [] }: AuditFacts): readonly string[] {
  if (verb === 'GET') return [];
  return distinctDevices([...namesIn(address), ...namesIn(approvalName), ...devices]);
}

/** Names of devices without repetitions, each cut, and so many as a record has. */
export function distinctDevices(names: Iterable<string>): readonly string[] {
  const kept = new Set<string>();
  for (const name of names) {
    if (kept.size === maxDevices) break;
    const text = storableText(name.slice(0, maxNameLength));
    if (text !== '') kept.add(text);
  }
  return [...kept];
}

function namesIn(path: string | undefined): readonly string[] {
  if (path === undefined || !path.includes('device=')) return [];
  const [beforeQuery = ''] = path.split('?', 1);
  return [...beforeQuery.matchAll(/(?:^|[/: ])device=([^/,]+)/gu)].map(([, name = '']) => decoded(name));
}

/** RFC 8040 3.5.3: the key of a list is percent-encoded. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
