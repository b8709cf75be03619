#!/usr/bin/env node
// This file checks the version before any import: the modules that it imports need Node 26.
const [major = '0'] = process.versions.node.split('.');
if (Number(major) < 26) {
  process.stderr.write(
    `orchestration-gateway needs Node.js 26 or later; this is ${process.versions.node}. "npx orchestration-gateway" brings its own.\n`,
  );
  process.exitCode = 1;
} else {
  // Name look-ups use at most half of libuv's threads. Of the usual four, two slow names would block all other look-ups.
  process.env['UV_THREADPOOL_SIZE'] ??= '16';
  // Compiled modules are kept for the next start, in the folder of the code: who may write there may change the code anyway. Where the
  // gateway cannot write to it, each start compiles all modules.
  const { fileURLToPath } = await import('node:url');
  const { enableCompileCache, flushCompileCache } = await import('node:module');
  const cache = fileURLToPath(new URL('../node_modules/.cache/orchestration-gateway', import.meta.url));
  enableCompileCache(cache);
  // Worker threads read this variable when they start.
  process.env['NODE_COMPILE_CACHE'] ??= cache;
  // The launchers name themselves here: they start another Node.js, which would only see this file.
  const script = process.env['ORCHESTRATION_GATEWAY_LAUNCHER'] ?? process.argv[1] ?? '';
  delete process.env['ORCHESTRATION_GATEWAY_LAUNCHER'];
  const { runCli } = await import('#cli/cli.ts');
  const { invocationOf } = await import('#cli/invocation.ts');
  const { untilInterrupted } = await import('#cli/until-interrupted.ts');
  process.exitCode = await runCli({
    argv: process.argv.slice(2),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    invocation: invocationOf({ argv0: process.argv0, script, env: process.env, cwd: process.cwd() }),
    isTerminal: process.stdin.isTTY,
    printsToTerminal: process.stdout.isTTY,
    // Some terminals report 0 columns.
    outputColumns: process.stdout.isTTY ? process.stdout.columns || 80 : undefined,
    progressColumns: process.stderr.isTTY ? process.stderr.columns || 80 : undefined,
    // Only the commands that need these modules load them: those of a server take half a second.
    serve: async (options) => (await import('./serve.ts')).serve(options, process, () => flushCompileCache()),
    demo: async (options) => (await import('./demo.ts')).demo(options, process),
    withAudit: async (...use) => (await import('#wiring/offline/stored-audit.ts')).withStoredAudit(...use),
    maintenance: () => import('#wiring/offline/maintenance.ts'),
    untilInterrupted: (work) => untilInterrupted(process, work),
  });
}
