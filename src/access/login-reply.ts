/** Errors that may stand in the log (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6). Any other text of an issuer does not. */
const knownErrors: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_request',
  'invalid_scope',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
]);

/** Visible ASCII (RFC 6749, appendix A.11). */
const usableCode = /^[\x20-\x7e]{1,4096}$/u;

/**
 * The code in the issuer's reply, or a fault that quotes nothing of it. The reply has to be of the issuer that was asked (RFC 9207), and no
 * parameter may come twice; unknown ones are ignored.
 */
export function readLoginReply(
  reply: URLSearchParams,
  { issuer, namesItself }: { readonly issuer: string; readonly namesItself: boolean },
): { readonly code: string } | { readonly fault: string } {
  const parameters = ['code', 'iss', 'error'].map((name) => reply.getAll(name));
  if (parameters.some((values) => values.length > 1)) return { fault: 'the reply of the issuer has a parameter twice' };
  const [code, iss, error] = parameters.map(([value]) => value);
  if (iss === undefined ? namesItself : iss !== issuer) return { fault: 'the reply is of another issuer' };
  if (error !== undefined) return { fault: `the issuer refused it${knownErrors.has(error) ? ` (${error})` : ''}` };
  if (code === undefined || !usableCode.test(code)) return { fault: 'the reply of the issuer has no usable code' };
  return { code };
}
