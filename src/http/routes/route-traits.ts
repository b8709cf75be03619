import type { RouteTraits } from '#http/route.ts';

/** A call to a far side; the call path counts it. */
export const relayedCall: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'judged', recorded: true };

export const catalogueReading: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'admitted', recorded: false };

/** Also a reading of the whole catalogue. */
export const catalogueChange: RouteTraits = { ...catalogueReading, recorded: true };

/** A login, a logout, a request for a token. */
export const sessionChange: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'never', recorded: true };

/** Monitoring and documentation are answered under any load. */
export const monitoring: RouteTraits = { sheddable: false, holdsPlace: false, counted: 'never', recorded: false };

/** What an operator does with the gateway itself, under any load; also a reading of the audit log. */
export const operatorAction: RouteTraits = { ...monitoring, recorded: true };
