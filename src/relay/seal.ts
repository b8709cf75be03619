import { matchesPaths } from '#adapters/path-rights.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { OrchestratorParams, PassedOnHeaders } from './orchestrator-request.ts';

/** A part of a call, with placeholders in place of secrets. */
export interface SealedText {
  /** `authentication`, `query`, `path`, `body`, `header:NAME`; or a part that may carry no secret. */
  readonly place: string;
  readonly text: string;
}

/** Where a call goes: an adapter instance by its name, or an address. */
export type SealedDestination = { readonly adapter: string } | { readonly url: URL };

/** A secret in a call. */
export interface CarriedSecret {
  readonly name: string;
  readonly place: string;
}

/**
 * The secrets that a call of a run may carry. Up to the moment at which the call leaves it has placeholders, so that no other part of the
 * gateway gets a value.
 */
export interface Seal {
  /** Why the call must not leave as it is, by the configuration of now. */
  refusal(texts: readonly SealedText[], to: SealedDestination): GatewayError | undefined;
  /** What of the call is a secret. */
  carried(texts: readonly SealedText[]): readonly CarriedSecret[];
  /** The text with the values of now, each written by `encode`. Only for what `refusal` let pass. */
  open(text: string, encode?: (value: string) => string): string;
  /** The text as readers see it. */
  shown(text: string): string;
  /** Whether a text of the far side has a placeholder, or the value of a secret of the run. */
  gives(text: string): boolean;
}

/** For calls that no run makes. */
export const noSeal: Seal = {
  refusal: () => undefined,
  carried: () => [],
  open: (text) => text,
  shown: (text) => text,
  gives: () => false,
};

/** Whether one of the addresses has the origin of the URL, and the beginning of its path in every reading of it. */
export function isDestination(addresses: readonly string[], { origin, pathname }: URL): boolean {
  return addresses.some((address) => {
    const allowed = new URL(address);
    return allowed.origin === origin && matchesPaths([`${allowed.pathname.replace(/\/$/u, '')}/**`], pathname);
  });
}

/** Path and query of an address as parts of a call. The query is all behind the first `?`. */
export function addressTexts(path: string): readonly SealedText[] {
  const at = path.indexOf('?');
  if (at < 0) return [{ place: 'path', text: path }];
  return [
    { place: 'path', text: path.slice(0, at) },
    { place: 'query', text: path.slice(at + 1) },
  ];
}

export function headerTexts(headers: readonly string[]): readonly SealedText[] {
  return headers.map((text, index) => {
    const name = headers[index - 1] ?? '';
    return { place: index % 2 === 0 ? 'the name of a header' : `header:${name.toLowerCase()}`, text };
  });
}

export function bodyTexts(body: Buffer | undefined): readonly SealedText[] {
  return body === undefined ? [] : [{ place: 'body', text: body.toString() }];
}

/** What of a call to an orchestrator may have placeholders. */
export function orchestratorTexts({
  params: { path, accept, contentType: type },
  passedOn = {},
  body,
}: {
  readonly params: OrchestratorParams;
  readonly passedOn?: PassedOnHeaders;
  readonly body?: Buffer | undefined;
}): readonly SealedText[] {
  const headers = ['Accept', accept, ...(type === undefined ? [] : ['Content-Type', type]), ...Object.entries(passedOn).flat()];
  return [...addressTexts(path), ...headerTexts(headers), ...bodyTexts(body)];
}

/** As the inside of a JSON string. */
export function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
