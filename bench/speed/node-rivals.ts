import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = join(import.meta.dirname, '..');

/** The folder of the packages that the gateway is compared with. */
export const modules = join(directory, 'node_modules');

let outcome: { readonly problem?: string } | undefined;

/** Installs the packages of bench/package-lock.json where they are missing. Returns why that failed, or undefined. */
export function missingModules(): string | undefined {
  outcome ??= install();
  return outcome.problem;
}

function install(): { readonly problem?: string } {
  if (isInstalled()) return {};
  process.stderr.write('installing bench/package-lock.json\n');
  const { status, stderr } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: directory,
    encoding: 'utf8',
  });
  return status === 0 ? {} : { problem: `npm ci in bench/ failed: ${stderr.trim().split('\n').at(-1)}` };
}

function isInstalled(): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return Object.entries(dependencies).every(([name, version]) => versionOf(name) === version);
}

/** The version of an installed package; undefined where it is not installed. */
export function versionOf(name: string): string | undefined {
  try {
    const text = readFileSync(join(modules, name, 'package.json'), 'utf8');
    return (JSON.parse(text) as { readonly version: string }).version;
  } catch {
    return undefined;
  }
}
