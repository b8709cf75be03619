// The part of @hey-api/openapi-ts that tools/client/generator.ts uses. Its own declarations need the types of Angular, Vue and others.

export interface GeneratorOptions {
  /** An OpenAPI document, or the name of its file. */
  readonly input: string | Readonly<Record<string, unknown>>;
  readonly output: { readonly path: string; readonly clean: boolean; readonly entryFile: boolean };
  readonly plugins: readonly string[];
  readonly logs: { readonly level: 'silent' };
}

export function createClient(options: GeneratorOptions): Promise<unknown>;
