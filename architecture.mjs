/**
 * Which folder imports which: a folder under src/ may import itself and what its row names.
 * The files next to the folders (`main.ts`, `serve.ts`, `demo.ts`) may import all. Enforced by dependency-cruiser (.dependency-cruiser.mjs),
 * printed in CONTRIBUTING.md by `npm run docs`.
 */
export const mayImport = {
  base: [],
  json: ['base'],
  yaml: [],
  xml: ['base', 'json'],
  config: ['base', 'yaml', 'access', 'outbound', 'adapters', 'notifications', 'workflows'],
  database: ['base'],
  statistics: ['base', 'database'],
  audit: ['base', 'database', 'statistics'],
  access: ['base', 'database'],
  outbound: ['base'],
  adapters: ['base', 'json', 'xml', 'outbound'],
  telemetry: [
    'base',
    'access',
    'database',
    'outbound',
    'adapters',
    'audit',
    'calls',
    'automations',
    'runs',
    'http',
    'notifications',
  ],
  relay: ['base', 'json', 'xml', 'outbound', 'adapters'],
  automations: ['base', 'json', 'database', 'access'],
  workflows: ['base', 'json', 'yaml', 'database', 'access'],
  forms: ['base', 'json', 'yaml', 'database', 'access', 'automations', 'workflows'],
  runs: ['base', 'json', 'yaml', 'database', 'access', 'audit', 'statistics', 'automations', 'workflows', 'calls', 'relay'],
  approvals: ['base', 'database', 'access', 'adapters', 'audit', 'calls', 'relay', 'previews', 'runs'],
  notifications: ['base', 'database', 'outbound', 'adapters', 'workflows', 'runs'],
  calls: ['base', 'access', 'outbound', 'adapters', 'relay', 'audit'],
  previews: ['base', 'access', 'adapters', 'audit', 'calls'],
  mcp: [
    'base',
    'json',
    'database',
    'access',
    'adapters',
    'relay',
    'audit',
    'calls',
    'previews',
    'automations',
    'runs',
    'approvals',
  ],
  http: [
    'base',
    'json',
    'xml',
    'access',
    'adapters',
    'relay',
    'calls',
    'previews',
    'automations',
    'workflows',
    'forms',
    'runs',
    'approvals',
    'notifications',
    'audit',
    'statistics',
  ],
  cli: ['base', 'json', 'yaml', 'config', 'access', 'audit', 'workflows'],
  wiring: [
    'base',
    'config',
    'database',
    'audit',
    'statistics',
    'access',
    'outbound',
    'adapters',
    'relay',
    'calls',
    'previews',
    'automations',
    'workflows',
    'forms',
    'runs',
    'approvals',
    'notifications',
    'mcp',
    'http',
    'telemetry',
  ],
};

/** npm packages and Node modules that belong to one folder each, with the files elsewhere that may import them too. */
export const belongsTo = [
  { name: 'only-http-knows-routing', packages: '^(find-my-way|@fastify/)', folders: ['http'] },
  {
    name: 'only-outbound-dials-out',
    packages: '^(undici|net|tls|http|https|http2|dns|dns/promises|dgram)$',
    folders: ['outbound'],
    // They listen, and read addresses; .oxlintrc.json forbids the names of Node's HTTP client there.
    files: ['http/server.ts', 'http/admission/source-address.ts', 'wiring/offline/listening.ts'],
  },
  { name: 'only-database-opens-databases', packages: '^(pg|sqlite|node:sqlite)$', folders: ['database'] },
  // oauth4webapi falls back to the fetch of the process, which takes no way of outbound/. Its users pass a fetch of their own.
  { name: 'only-access-knows-tokens', packages: '^(jose|oauth4webapi)$', folders: ['access'] },
  { name: 'only-telemetry-knows-opentelemetry', packages: '^(@opentelemetry)$', folders: ['telemetry'] },
  {
    name: 'only-workflows-knows-jq',
    packages: '^jq-wasm$',
    folders: ['workflows'],
    // Its tests evaluate in their own thread.
    files: ['runs/interpreter/run-harness.test-support.ts'],
  },
  { name: 'only-mcp-knows-its-protocol', packages: '^@modelcontextprotocol/', folders: ['mcp'] },
  { name: 'only-automations-knows-cron', packages: '^croner$', folders: ['automations'] },
  // `{ exec: … }` runs one program for the value of a secret, and the launcher the Node.js that npm installed.
  {
    name: 'no-child-processes',
    packages: '^(child_process|cluster)$',
    folders: [],
    files: ['config/secrets/exec-source.ts', 'launcher.cjs'],
  },
];

/** Rooms of one folder that never import each other: what works on runs, and what answers questions about them. */
export const neverImport = [['runs/engine', 'runs/catalogue']];

/** Files of one folder of src/, its subfolders left out. */
export const maxFilesOfFolder = 25;
