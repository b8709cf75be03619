/** What a limit limits, where it is, and what happens beyond it, as docs/reference/limits.md shows it. */
interface Limit {
  readonly what: string;
  readonly limit: string;
  readonly beyond: string;
}

/** The limits that keep one caller from taking the service away from the others. */
export const limits = {
  'error-text': {
    what: '`title` and `detail` of an error, a text of `raise`, of jq or of a schema problem',
    limit: '4 KiB each',
    beyond: 'the text is cut, and ends with `… (cut)`',
  },
  'approval-message': { what: '`message` of `call: approval`', limit: '10 KiB; 100 roles and groups', beyond: 'the task fails' },
  'expression-output': { what: 'the result of one expression', limit: '8 MiB', beyond: 'an error of the type `expression`' },
  page: {
    what: 'a page of any list',
    limit: '4 MiB, and the `limit` of the caller',
    beyond:
      'fewer rows and a `cursor`. In lists with `skip`, `limit` is then the number of rows in `list`, and `total` stays true',
  },
  'request-body': {
    what: 'the body of a request',
    limit: '`server.requestBodyLimit`; of `POST /events` 256 KiB; of some routes less',
    beyond: '413 `body-too-large`',
  },
  'event-data': {
    what: 'the data of an event in streams and webhooks',
    limit: '64 KiB',
    beyond:
      'texts are cut, long members are left out, and `data` has `truncated: true` and `href`. `listen` gets the event whole',
  },
  timeline: {
    what: 'completed tasks of one run that only compute, and their events',
    limit: '20,000',
    beyond: '`notStored` of the run counts the later ones. Tasks that call, wait, ask or fail are always stored',
  },
  'open-approvals': {
    what: 'open approvals of one person, with questions of tasks',
    limit: '1,000 and 100 MiB',
    beyond: '429 `too-many-requests`; a task waits, asks again each minute, and its run holds no place meanwhile',
  },
  'task-data': {
    what: 'what the tasks of a run got and gave',
    limit: '64 KiB each part, 64 MiB a run',
    beyond: 'a part is cut, and `truncated` names it. Later tasks have none, and their `noData` says so',
  },
  'store-per-person': {
    what: 'runs, events, approvals, documents and waiting calls of one person in the store',
    limit: '`automations.storePerPerson`',
    beyond:
      '429 `quota-reached` for starts, events and further waiting calls of that person. A schedule skips with that code. Runs under way go on',
  },
  'store-reserve': {
    what: 'free room on the disk of a SQLite store',
    limit: '256 MiB, or a quarter of a smaller disk',
    beyond:
      'runs, events and new approvals wait or get 503 `store-unavailable`. Calls, their records and logins go on. `GET /readyz` has `store.reserve`',
  },
  places: {
    what: 'places of one person at one gateway',
    limit: 'three quarters of `automations.tasks`, at least 1',
    beyond: 'runs of others come first. A run gives its place back while it waits, and after 5 s of work where others are due',
  },
  documents: {
    what: 'a document that a run fetches',
    limit: '8 MiB; two at once, of different persons',
    beyond: 'the task fails; or it waits for its turn',
  },
  threads: {
    what: 'a place in the threads for expressions and schemas',
    limit: 'persons take turns; 10 s',
    beyond: '503 `overloaded`; a task waits',
  },
} as const satisfies Record<string, Limit>;

/** Told each time that a limit cut, refused or delayed something. */
export type LimitReached = (limit: keyof typeof limits) => void;
