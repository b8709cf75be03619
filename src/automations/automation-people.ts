import type { NamedPrincipal } from '#access/people.ts';

/** Who is behind an automation. What is absent is not kept by the store. */
export interface AutomationPeople {
  /** Who last changed its author fields. They answer for the calls of its runs; an empty list answers for none. */
  readonly authors?: readonly NamedPrincipal[] | undefined;
  /** Who wrote values that somebody took since: involved, without lending rights. */
  readonly earlierAuthors?: readonly NamedPrincipal[] | undefined;
  readonly scheduler?: NamedPrincipal | undefined;
  /** Who resumed its schedule. */
  readonly resumer?: NamedPrincipal | undefined;
  /** Who last wrote its form. */
  readonly formWriter?: NamedPrincipal | undefined;
}
