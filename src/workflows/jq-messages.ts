export interface JqWorkerData {
  readonly module: WebAssembly.Module;
  /** Bytes. */
  readonly memoryLimit: number;
}

export interface JqRequest {
  readonly program: string;
  /** JSON text, or the empty text to compile the program alone. */
  readonly input: string;
}

/** `memory`: bytes that jq has taken so far. `aborted`: jq is out of order, and its thread has to be replaced. */
export type JqAnswer =
  | { readonly stdout: string; readonly stderr: string; readonly exitCode: number; readonly memory: number }
  | { readonly aborted: true };
