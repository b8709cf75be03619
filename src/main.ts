#!/usr/bin/env node
// Nothing is imported before the version is known: the modules behind this line need Node 26.
const [major = '0'] = process.versions.node.split('.');
if (Number(major) < 26) {
  process.stderr.write(
    `orchestration-gateway needs Node.js 26 or later; this is ${process.versions.node}. "npm start" brings its own.\n`,
  );
  process.exitCode = 1;
} else {
  // Name look-ups may have half of libuv's threads; with four of them two slow names would hold all others up.
  process.env['UV_THREADPOOL_SIZE'] ??= '16';
  // Modules stripped of their types and compiled, kept from one start to the next: beside the code, where only who may change that may
  // change them. Where it cannot be written to, every start is a first one.
  const { fileURLToPath } = await import('node:url');
  const { enableCompileCache, flushCompileCache } = await import('node:module');
  const cache = fileURLToPath(new URL('../node_modules/.cache/orchestration-gateway', import.meta.url));
  enableCompileCache(cache);
  // A worker thread looks here when it starts.
  process.env['NODE_COMPILE_CACHE'] ??= cache;
  const { tuneGarbageCollection } = await import('#base/garbage-collection.ts');
  tuneGarbageCollection();
  const { runCli } = await import('#cli/cli.ts');
  const { untilInterrupted } = await import('#cli/until-interrupted.ts');
  process.exitCode = await runCli({
    argv: process.argv.slice(2),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    isTerminal: process.stdin.isTTY,
    printsToTerminal: process.stdout.isTTY,
    // Some terminals say that they have no columns.
    progressColumns: process.stderr.isTTY ? process.stderr.columns || 80 : undefined,
    // Loaded by the commands that need them: the modules of a server take half a second.
    serve: async (options) => (await import('./serve.ts')).serve(options, process, () => flushCompileCache()),
    demo: async (options) => (await import('./demo.ts')).demo(options, process),
    withAudit: async (...use) => (await import('#wiring/stored-audit.ts')).withStoredAudit(...use),
    withCatalogue: async (...use) => (await import('#wiring/stored-catalogue.ts')).withStoredCatalogue(...use),
    untilInterrupted: (work) => untilInterrupted(process, work),
  });
}
