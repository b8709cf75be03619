import { Type } from 'typebox';

/** The verbs a call can have. */
export const verbs = Type.Enum(['DELETE', 'GET', 'PATCH', 'PUT', 'POST']);
