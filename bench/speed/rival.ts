import type { Owner } from '../../test/support/owner.ts';
import type { Route, Subject } from './subjects.ts';

/** Another relay to measure. */
export interface Rival {
  readonly name: string;
  /** Which of the gateway's checks it makes, and how it is set up. */
  readonly about: string;
  /** The call that it and the floor get. */
  readonly route: Route;
  /** Called only where it is not missing. */
  version(): string;
  /** Why it is not available; undefined where it is. */
  missing(): string | undefined;
  start(owner: Owner, asked: { readonly upstream: string }): Promise<Subject>;
}
