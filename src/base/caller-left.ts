/** The caller went away: what was under way for it is broken off, and nobody reads the error. */
export class CallerLeft extends Error {
  constructor() {
    super('the caller closed its connection');
    this.name = 'CallerLeft';
  }
}
