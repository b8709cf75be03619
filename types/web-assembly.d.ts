/**
 * The part of WebAssembly that src/base/web-assembly.ts uses (W3C WebAssembly JavaScript Interface 2): TypeScript declares it for
 * browsers only, among the DOM.
 */
declare namespace WebAssembly {
  /** Compiled code. */
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module';
  }
  const Module: new (bytes: Uint8Array) => Module;
  const Instance: new (module: Module, imports?: object) => { readonly exports: object };
  /** A program trapped: it ran out of memory, or into what it holds for impossible. */
  class RuntimeError extends Error {}
  function validate(bytes: Uint8Array): boolean;
}
