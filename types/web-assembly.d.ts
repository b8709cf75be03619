/**
 * The part of WebAssembly that src/ and the declarations of jq-wasm use (W3C WebAssembly JavaScript Interface 2). TypeScript
 * declares it for browsers only, among the DOM.
 */
declare namespace WebAssembly {
  /** Compiled code. */
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module';
  }
  const Module: new (bytes: Uint8Array) => Module;
  type Imports = object;
  interface Instance {
    readonly exports: object;
  }
  const Instance: new (module: Module, imports?: object) => Instance;
  interface Memory {
    readonly buffer: ArrayBuffer;
    /** Adds pages of 64 KiB; answers the number of pages before. Throws RangeError. */
    grow(pages: number): number;
  }
  const Memory: { readonly prototype: Memory };
  /** A program trapped: it ran out of memory, or into what it holds for impossible. */
  class RuntimeError extends Error {}
  function compile(bytes: Uint8Array): Promise<Module>;
  function validate(bytes: Uint8Array): boolean;
}
