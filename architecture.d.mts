export declare const mayImport: Readonly<Record<string, readonly string[]>>;
export declare const belongsTo: readonly {
  readonly name: string;
  readonly packages: string;
  readonly folders: readonly string[];
  readonly files?: readonly string[];
}[];
export declare const neverImport: readonly (readonly [string, string])[];
export declare const maxFilesOfFolder: number;
