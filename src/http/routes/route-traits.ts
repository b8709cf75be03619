import type { RouteTraits } from '../route.ts';

/** A call to an upstream; the call path counts it against the rate limit. */
export const relayedCall: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'call', recorded: true };

export const catalogueReading: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'valid', recorded: false };

/** Changes of the catalogue, and its export. */
export const catalogueChange: RouteTraits = { ...catalogueReading, recorded: true };

/** Logins, logouts, requests for a token. */
export const sessionChange: RouteTraits = { sheddable: true, holdsPlace: true, counted: 'never', recorded: true };

/** Monitoring and documentation, answered under any load. */
export const monitoring: RouteTraits = { sheddable: false, holdsPlace: false, counted: 'never', recorded: false };

/** Operations on the gateway itself, under any load; also the reading of the audit log. */
export const operatorAction: RouteTraits = { ...monitoring, recorded: true };
