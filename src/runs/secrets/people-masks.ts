import type { ApprovalReference } from '#calls/approval-check.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { maskMembers } from '#json/mask-members.ts';
import type { Seal } from '#relay/call-seal.ts';
import { type Mask, textMask } from './mask.ts';

/**
 * For people who decide about a call of a run: neither secrets nor what was filled into password fields of a form. What they grant is still
 * the call with its true bytes. `shown`: the JSON text without secrets.
 */
export function masksForPeople({
  shown,
  seal: { hiddenFields, withoutPasswords },
}: {
  readonly shown: Mask;
  readonly seal: Pick<Seal, 'hiddenFields' | 'withoutPasswords'>;
}): Pick<ApprovalReference, 'mask' | 'maskBody'> {
  const mask: Mask = (jsonText) => withoutPasswords(shown(jsonText));
  if (hiddenFields.length === 0) return { mask };
  const maskBody = (text: string): string => {
    try {
      return maskMembers(mask(text), (name) => hiddenFields.includes(name));
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      return textMask(mask)(text);
    }
  };
  return { mask, maskBody };
}
