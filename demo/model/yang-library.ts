import type { DataObject } from './data-tree.ts';
import { operational, type SchemaNode, type YangModule, yangModule } from './schema.ts';

export const libraryModule = {
  name: 'ietf-yang-library',
  namespace: 'urn:ietf:params:xml:ns:yang:ietf-yang-library',
  prefix: 'yanglib',
  revision: '2019-01-04',
} as const;

const library = yangModule(libraryModule);

const about = [library.leaf('name', 'string'), library.leaf('revision', 'string'), library.leaf('namespace', 'string')];

/** The modules of the server: `yang-library` of RFC 8525, and `modules-state` of RFC 7895, which it replaces. */
export const yangLibrarySchema: readonly SchemaNode[] = [
  operational(
    library.container('yang-library', {
      children: [
        library.list('module-set', {
          keys: ['name'],
          children: [library.leaf('name', 'string'), library.list('module', { keys: ['name'], children: about })],
        }),
        library.list('schema', {
          keys: ['name'],
          children: [library.leaf('name', 'string'), library.leafList('module-set', 'string')],
        }),
        library.list('datastore', {
          keys: ['name'],
          children: [library.leaf('name', 'string'), library.leaf('schema', 'string')],
        }),
        library.leaf('content-id', 'string'),
      ],
    }),
  ),
  operational(
    library.container('modules-state', {
      children: [
        library.leaf('module-set-id', 'string'),
        library.list('module', {
          keys: ['name', 'revision'],
          children: [...about, library.leaf('conformance-type', { oneOf: ['implement', 'import'] })],
        }),
      ],
    }),
  ),
];

/** A module with its revision; empty where the module has none. */
type Module = Pick<YangModule, 'name' | 'namespace'> & { readonly revision?: string };

/** The data of both for these modules. */
export function yangLibraryData(modules: readonly Module[]): DataObject {
  const id = 'demo-1';
  const described = modules.map(({ name, namespace, revision }) => ({
    name,
    ...(revision === undefined ? {} : { revision }),
    namespace,
  }));
  return {
    'ietf-yang-library:yang-library': {
      'module-set': [{ name: 'common', module: described }],
      schema: [{ name: 'common', 'module-set': ['common'] }],
      datastore: ['running', 'operational'].map((name) => ({ name: `ietf-datastores:${name}`, schema: 'common' })),
      'content-id': id,
    },
    'ietf-yang-library:modules-state': {
      'module-set-id': id,
      module: described.map((module) => ({ revision: '', ...module, 'conformance-type': 'implement' })),
    },
  };
}
