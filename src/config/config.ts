import type { Role } from '#access/principal.ts';
import type { Secret } from '#base/secret.ts';

/**
 * The configuration as the gateway uses it: frozen, every default filled in, durations in milliseconds,
 * sizes in bytes, files read, secrets resolved. Key names are those of the YAML file (docs/reference/configuration.md).
 */
export interface Config {
  readonly server: ServerConfig;
  readonly store: StoreConfig;
  readonly access: AccessConfig;
  readonly outbound: OutboundConfig;
  readonly adapters: readonly AdapterConfig[];
  readonly audit: AuditConfig;
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: Secret };
  readonly requestBodyLimit: number;
  readonly openMetrics: boolean;
  /** Addresses or CIDRs. */
  readonly trustedProxies: readonly string[];
  readonly rateLimit?: { readonly calls: number; readonly per: number };
  readonly logLevel: LogLevel;
}

type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

export type StoreConfig =
  /** An absolute file name. */
  { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: Secret };

export interface AccessConfig {
  readonly tokenLifetime: number;
  readonly users: readonly UserConfig[];
  readonly clients: readonly ClientConfig[];
  readonly oidc: readonly OidcConfig[];
}

interface UserConfig {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

interface ClientConfig {
  readonly clientId: string;
  readonly secretHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

interface OidcConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  readonly algorithms: readonly string[];
}

/** Milliseconds each. */
export interface TimeoutsConfig {
  readonly dns: number;
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly total: number;
}

/** PEM texts of the named files. */
export interface ClientTlsConfig {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
  /** Adapters only. */
  readonly serverName?: string;
  /** Adapters only; default true. */
  readonly verify: boolean;
}

export interface ProxyConfig {
  readonly url: string;
  readonly username?: string;
  readonly password?: Secret;
  readonly resolves: boolean;
}

export interface OutboundConfig {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly timeouts: TimeoutsConfig;
  readonly responseLimit: number;
  readonly redirects: number;
  readonly tls?: ClientTlsConfig;
  readonly proxy?: ProxyConfig;
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
  readonly tls?: ClientTlsConfig;
  readonly proxy?: ProxyConfig;
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
  readonly maxSize?: number;
  readonly checkpointFile?: string;
}
