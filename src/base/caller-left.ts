/** The caller closed its connection: its call is aborted, and no reply carries this error. */
export class CallerLeft extends Error {
  constructor() {
    super('the caller closed its connection');
    this.name = 'CallerLeft';
  }
}
