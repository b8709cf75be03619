import { readFileSync } from 'node:fs';

/** `simd` is for processors with SIMD (SSE4.1, NEON), which are almost all; `plain` is for any processor. */
type ProgramVariant = 'simd' | 'plain';

/**
 * Compiles `NAME-VARIANT.wasm` of a directory. assembly/ makes these files, and they are committed next to the TypeScript that uses
 * them. Undefined where this processor cannot run the variant.
 */
export function compileVariant(directory: URL, name: string, variant: ProgramVariant): WebAssembly.Module | undefined {
  const code = readFileSync(new URL(`${name}-${variant}.wasm`, directory));
  return WebAssembly.validate(code) ? new WebAssembly.Module(code) : undefined;
}

/** Compiles the fastest variant that this processor can run. */
export function compileProgram(directory: URL, name: string): WebAssembly.Module {
  const program = compileVariant(directory, name, 'simd') ?? compileVariant(directory, name, 'plain');
  if (program === undefined)
    throw new Error('This process runs no WebAssembly, which the gateway needs: start node without --jitless.');
  return program;
}
