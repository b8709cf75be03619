/**
 * The part of WebAssembly that the evaluation of jq and the declarations of jq-wasm use (W3C WebAssembly JavaScript Interface 2). TypeScript
 * declares it for browsers only, among the DOM.
 */
declare namespace WebAssembly {
  /** Compiled code. */
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module';
  }
  type Imports = object;
  interface Instance {
    readonly exports: object;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
    /** Adds pages of 64 KiB; answers the number of pages before. Throws RangeError. */
    grow(pages: number): number;
  }
  const Memory: { readonly prototype: Memory };
  function compile(bytes: Uint8Array): Promise<Module>;
}
