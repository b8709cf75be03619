/**
 * Which folder imports which: a folder under src/ may import itself and what its row names.
 * The files next to the folders (`main.ts`, `serve.ts`, `demo.ts`) may import all. Enforced by dependency-cruiser (.dependency-cruiser.mjs),
 * printed in ARCHITECTURE.md; test/architecture.test.ts holds the two together.
 */
export const mayImport = {
  base: [],
  json: ['base'],
  yaml: [],
  xml: ['base', 'json'],
  config: ['base', 'yaml', 'access', 'outbound'],
  database: ['base'],
  audit: ['base', 'database'],
  access: ['base', 'database'],
  outbound: ['base'],
  adapters: ['base', 'json', 'xml', 'outbound'],
  telemetry: ['base', 'access', 'database', 'outbound', 'adapters', 'audit', 'calls', 'runs', 'http', 'schedules'],
  relay: ['base', 'json', 'xml', 'outbound', 'adapters'],
  automations: ['base', 'json', 'database', 'access'],
  workflows: ['base', 'json', 'yaml', 'database', 'access'],
  forms: ['base', 'json', 'yaml', 'database', 'access', 'automations', 'workflows'],
  runs: ['base', 'json', 'yaml', 'database', 'access', 'audit', 'automations', 'workflows', 'calls', 'relay'],
  approvals: ['base', 'database', 'access', 'adapters', 'audit', 'calls', 'relay', 'previews', 'runs'],
  schedules: ['base', 'database', 'automations', 'runs'],
  calls: ['base', 'access', 'outbound', 'adapters', 'relay', 'audit'],
<<<<<<< HEAD
=======
  previews: ['base', 'access', 'adapters', 'audit', 'calls'],
>>>>>>> d512d2888f1f70872b198e0c5a787b1d334a6f80
  http: [
    'base',
    'json',
    'access',
    'adapters',
    'relay',
    'calls',
<<<<<<< HEAD
=======
    'previews',
>>>>>>> d512d2888f1f70872b198e0c5a787b1d334a6f80
    'automations',
    'workflows',
    'forms',
    'runs',
    'approvals',
    'audit',
  ],
  cli: ['base', 'json', 'yaml', 'config', 'access', 'audit', 'workflows'],
  wiring: [
    'base',
    'config',
    'database',
    'audit',
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
    'schedules',
    'http',
    'telemetry',
    'cli',
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
    files: ['http/server.ts', 'http/admission/source-address.ts'],
  },
  { name: 'only-database-opens-databases', packages: '^(pg|sqlite|node:sqlite)$', folders: ['database'] },
  { name: 'only-telemetry-knows-opentelemetry', packages: '^(@opentelemetry)$', folders: ['telemetry'] },
  {
    name: 'only-workflows-knows-jq',
    packages: '^jq-wasm$',
    folders: ['workflows'],
    // Its tests evaluate in their own thread.
    files: ['runs/interpreter/run-harness.test-support.ts'],
  },
  { name: 'only-automations-knows-cron', packages: '^croner$', folders: ['automations'] },
  { name: 'no-child-processes', packages: '^(child_process|cluster)$', folders: [] },
];
