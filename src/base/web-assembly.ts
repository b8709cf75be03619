import { readFileSync } from 'node:fs';

/** For which processors a program was compiled: those with SIMD (SSE4.1, NEON), which almost all are, or any. */
type ProgramVariant = 'simd' | 'plain';

/**
 * The compiled form of `NAME-VARIANT.wasm` in a directory, which is committed beside its TypeScript and made by assembly/; undefined
 * where this processor does not run that variant.
 */
export function compileVariant(directory: URL, name: string, variant: ProgramVariant): WebAssembly.Module | undefined {
  const code = readFileSync(new URL(`${name}-${variant}.wasm`, directory));
  return WebAssembly.validate(code) ? new WebAssembly.Module(code) : undefined;
}

/** The best variant that runs here. */
export function compileProgram(directory: URL, name: string): WebAssembly.Module {
  const program = compileVariant(directory, name, 'simd') ?? compileVariant(directory, name, 'plain');
  if (program === undefined)
    throw new Error('This process runs no WebAssembly, which the gateway needs: start node without --jitless.');
  return program;
}
