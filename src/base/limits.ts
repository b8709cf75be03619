/** The limits that keep one caller from taking the service away from the others, by what they limit. */
export const limitNames = [
  'error-text',
  'approval-message',
  'expression-output',
  'page',
  'request-body',
  'event-data',
  'timeline',
  'open-approvals',
  'store-per-person',
  'store-reserve',
  'places',
  'documents',
  'threads',
] as const;

/** Told each time that a limit cut, refused or delayed something. */
export type LimitReached = (limit: (typeof limitNames)[number]) => void;
