import type { Principal } from '../principal.ts';
import { createRights } from './rights.ts';

/** For parts that are tested without roles of the operator's own. */
export const noRights = createRights(() => []);

export const testAdmin: Principal = { id: 'admin', username: 'admin', roles: ['admin'], groups: [] };
