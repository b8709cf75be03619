import type { AccessOptions } from '#access/access-options.ts';
import type { ApprovalRule } from '#access/approval-options.ts';
import type { SecretRule } from '#access/secret-rule.ts';
import type { Secret } from '#base/secret.ts';
import type { ReceiverOptions } from '#notifications/notification.ts';
import type { ProxyOptions } from '#outbound/proxy-connect.ts';
import type { TlsOptions } from '#outbound/tls-handshake.ts';

/**
 * The configuration as the gateway uses it: frozen, with every default, durations in milliseconds, sizes in bytes,
 * the contents of files, and resolved secrets. Key names are those of the YAML file (docs/reference/configuration.md).
 */
export interface Config {
  readonly server: ServerConfig;
  readonly store: StoreConfig;
  readonly access: AccessOptions;
  readonly outbound: OutboundConfig;
  readonly adapters: readonly AdapterConfig[];
  readonly audit: AuditConfig;
  readonly automations: AutomationsConfig;
  readonly approvals: readonly ApprovalRule[];
  readonly notifications: readonly ReceiverOptions[];
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: Secret };
  readonly requestBodyLimit: number;
  readonly openMetrics: boolean;
  /** Whether the web console is served. */
  readonly console: boolean;
  /** Addresses or CIDRs. */
  readonly trustedProxies: readonly string[];
  readonly publicUrl?: string;
  readonly rateLimit?: { readonly calls: number; readonly per: number };
  readonly logLevel: LogLevel;
}

type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

export type StoreConfig =
  /** An absolute file name. */
  { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: Secret };

/** All in milliseconds. */
export interface TimeoutsConfig {
  readonly dns: number;
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly total: number;
}

export interface OutboundConfig {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly timeouts: TimeoutsConfig;
  readonly responseLimit: number;
  readonly redirects: number;
  readonly tls?: TlsOptions;
  readonly proxy?: ProxyOptions;
}

export type AdapterAuthConfig =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly type: 'bearer'; readonly token: Secret }
  | { readonly type: 'header'; readonly name: string; readonly value: Secret }
  | { readonly type: 'token'; readonly token: Secret }
  | {
      readonly type: 'oauth2';
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly scope?: string;
    };

export interface AdapterConfig {
  readonly name: string;
  readonly kind: 'nso' | 'restconf' | 'rest';
  /** At least one; `url: x` is `[x]`. */
  readonly urls: readonly string[];
  readonly auth: AdapterAuthConfig;
  readonly timeouts: TimeoutsConfig;
  readonly responseLimit: number;
  readonly concurrency: number;
  readonly queue: number;
  readonly health: { readonly interval: number } | 'off';
  readonly breaker: { readonly failures: number; readonly openFor: number };
  readonly allowPaths: PathRightsConfig;
  readonly denyPaths: PathRightsConfig;
  /** Absent: those of the kind. */
  readonly readActions?: readonly string[];
  readonly tls?: TlsOptions;
  readonly proxy?: ProxyOptions;
}

/** Globs over the path before its `?`. */
export interface PathRightsConfig {
  readonly actions: readonly string[];
  readonly queries: readonly string[];
}

export interface AuditConfig {
  /** Milliseconds. */
  readonly retention: number;
  /** Bytes. */
  readonly maxSize: number;
  readonly checkpointFile?: string;
  /** Of the proofs of approvals. Absent: see openProofKey. */
  readonly key?: Secret;
}

export interface AutomationsConfig {
  /** Tasks of runs at once; 0: none. */
  readonly tasks: number;
  /** Of ended runs, in milliseconds. */
  readonly retention: number;
  /** Bytes that the store may hold of one person. */
  readonly storePerPerson: number;
  readonly secrets: Readonly<Record<string, SealedSecretConfig>>;
}

export interface SealedSecretConfig extends SecretRule {
  readonly value: Secret;
}
