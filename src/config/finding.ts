/** What an examination found about one subject. Holds no secret. */
export interface Finding {
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'problem';
  /** A clause. Of a problem also what to do. */
  readonly detail: string;
}
