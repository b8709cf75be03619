import { spawnSync } from 'node:child_process';

/** Why a test that starts this program cannot run; false where it can, and under CI=true, where it must. */
export function missing(program: string, option: string, debianPackage: string): string | false {
  if (process.env['CI'] === 'true' || spawnSync(program, [option]).status === 0) return false;
  return `${program} is not installed: apt-get install ${debianPackage}`;
}
