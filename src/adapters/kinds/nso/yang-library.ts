import type { WholeAnswer } from '#adapters/dry-runs.ts';
import type { JsonNode } from '#json/json-tree.ts';
import { entriesIn, memberNamed, readTreeInSteps, textIn } from './json-members.ts';

/** The module that only NSO implements. */
const proof = 'tailf-ncs';

/**
 * The two forms of the YANG library, the newer one first (RFC 8525 and RFC 7895). `fields` keeps the answer of NSO short; another
 * server may ignore it and send all.
 */
const forms = [
  { path: 'restconf/data/ietf-yang-library:yang-library?fields=module-set/module/name', modules: modulesOfSets },
  { path: 'restconf/data/ietf-yang-library:modules-state?fields=module(name;conformance-type)', modules: modulesOfState },
] as const;

/** Looks for NSO's own module in the YANG library of one node. Resolves to the reason where it is not there. */
export async function proveNso(read: (path: string, accept: string) => Promise<WholeAnswer>): Promise<string | undefined> {
  const said: string[] = [];
  for (const { path, modules } of forms) {
    const { status, body } = await read(path, 'application/yang-data+json');
    if (status === 200) {
      const tree = await readTreeInSteps(body);
      const names = tree === undefined ? undefined : modules(tree);
      if (names?.includes(proof) === true) return undefined;
      said.push(names === undefined ? 'answers no YANG library' : `does not list the module ${proof}`);
    } else said.push(`answers ${status}`);
  }
  return `its YANG library does not prove that it is NSO: GET yang-library ${said[0]}, GET modules-state ${said[1]}`;
}

/** The implemented modules: `import-only-module` is a list of its own. */
function modulesOfSets(tree: JsonNode): readonly string[] | undefined {
  const library = memberNamed(tree, 'yang-library');
  if (library === undefined) return undefined;
  return entriesIn(memberNamed(library, 'module-set'))
    .flatMap((set) => entriesIn(memberNamed(set, 'module')))
    .flatMap((module) => textIn(module, 'name') ?? []);
}

function modulesOfState(tree: JsonNode): readonly string[] | undefined {
  const state = memberNamed(tree, 'modules-state');
  if (state === undefined) return undefined;
  return entriesIn(memberNamed(state, 'module'))
    .filter((module) => textIn(module, 'conformance-type') !== 'import')
    .flatMap((module) => textIn(module, 'name') ?? []);
}
