import { belongsTo, mayImport, neverImport } from './architecture.mjs';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...Object.entries(mayImport).map(([folder, below]) => ({
      name: `${folder}-imports-only-its-table-row`,
      comment: 'See CONTRIBUTING.md, "Which folder imports which". Move the code, or change the table with a decision record.',
      severity: 'error',
      from: { path: `^src/${folder}/`, pathNot: '[.]test(-support)?[.]ts$' },
      to: { path: '^src/', pathNot: `^src/(${[folder, ...below].join('|')})/` },
    })),
    ...belongsTo.map(({ name, packages, folders, files = [] }) => ({
      name,
      comment:
        'See architecture.mjs, "belongsTo": this module is used in one place so that its dangers are reviewed in one place.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          ...folders.map((folder) => `^src/${folder}/`),
          ...files.map((file) => `^src/${file}$`),
          '[.]test(-support)?[.]ts$',
        ],
      },
      to: {
        path: packages.replace('^(', '(^|node_modules/)(').replace(/\)\$$/u, ')($|/)'),
        dependencyTypesNot: ['local', 'aliased-subpath-import', 'type-only'],
      },
    })),
    ...neverImport.flatMap(([one, other]) =>
      [
        [one, other],
        [other, one],
      ].map(([from, to]) => ({
        name: `${from}-never-imports-${to}`.replaceAll('/', '-'),
        comment: 'See architecture.mjs, "neverImport".',
        severity: 'error',
        from: { path: `^src/${from}/`, pathNot: '[.]test(-support)?[.]ts$' },
        to: { path: `^src/${to}/` },
      })),
    ),
    {
      name: 'a-folder-without-a-row',
      comment: 'Every folder under src/ has a row in architecture.mjs.',
      severity: 'error',
      from: {},
      to: { path: '^src/[^/]+/', pathNot: `^src/(${Object.keys(mayImport).join('|')})/` },
    },
    {
      name: 'crossing-a-folder-shows-a-hash',
      comment: 'Write #folder/file.ts when crossing a folder, ./file.ts inside it.',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: { path: '^src/', pathNot: '^src/$1/', dependencyTypesNot: ['aliased-subpath-import'] },
    },
    {
      name: 'a-store-belongs-to-its-folder',
      comment: 'Only *-store.ts speaks SQL, and only its own folder (or wiring/, which makes it) imports it.',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: '^src/wiring/' },
      to: { path: '-store[.]ts$', pathNot: '^src/$1/' },
    },
    {
      name: 'only-the-call-path-sends',
      comment: 'A call is decided and recorded before it is sent: use perform() of src/calls/call-path.ts.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(adapters|calls|relay|wiring)/', '[.]test(-support)?[.]ts$'] },
      to: {
        path: [
          '^src/relay/(rest-call|orchestrator-call)[.]ts$',
          '^src/adapters/(adapter-instances?|nodes/adapter-node)[.]ts$',
          '^src/calls/send-recorded[.]ts$',
        ],
      },
    },
    {
      name: 'only-the-command-line-uses-the-client',
      comment: 'The client calls a gateway from outside. Inside the gateway a call takes the call path.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(cli/|demo[.]ts$)', '[.]test(-support)?[.]ts$'] },
      to: { path: '^client/' },
    },
    {
      name: 'the-client-imports-nothing-else',
      comment: 'The client is a package without dependencies, for browsers too.',
      severity: 'error',
      from: { path: '^client/src/', pathNot: '[.]test[.]ts$' },
      to: { pathNot: '^client/src/' },
    },
    {
      name: 'the-console-knows-the-client-alone',
      comment: 'The console talks to the gateway by its client, as every program may.',
      severity: 'error',
      from: { path: '^console/src/', pathNot: '[.]test[.]ts$' },
      to: { path: '^(src|demo|tools|test|bench)/|^client/src/(?!gateway[.]ts$)' },
    },
    {
      name: 'kinds-do-not-know-each-other',
      comment: 'What two adapter kinds share belongs to src/adapters/.',
      severity: 'error',
      from: { path: '^src/adapters/kinds/([^/]+)/' },
      to: { path: '^src/adapters/kinds/', pathNot: '^src/adapters/kinds/$1/' },
    },
    {
      name: 'production-code-imports-no-test',
      severity: 'error',
      from: { path: '^(src|demo|client)/', pathNot: '[.]test(-support)?[.]ts$' },
      to: { path: '^(test|bench|tools)/|[.]test(-support)?[.]ts$' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^(src|client/src)/', pathNot: '[.]test(-support)?[.]ts$' },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
    },
  },
};
