import type { Owner } from '../../test/support/owner.ts';
import type { Route, Subject } from './subjects.ts';

/** Something else that relays, to be measured beside the gateway. */
export interface Rival {
  readonly name: string;
  /** What of the gateway's job it does, and how it is set up. */
  readonly about: string;
  /** The call that it is asked for, and the floor with it. */
  readonly route: Route;
  /** Asked for where it is not missing. */
  version(): string;
  /** Why it cannot be had here; undefined where it can. */
  missing(): string | undefined;
  start(owner: Owner, asked: { readonly upstream: string }): Promise<Subject>;
}
