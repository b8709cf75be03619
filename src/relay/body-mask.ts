import { isCredential, maskedMember, maskMembersInSteps } from '#json/mask-members.ts';
import { maskElements } from '#xml/mask-elements.ts';
import { isForm, isXml, readMediaType } from './media-type.ts';

/** What a call sends as its body, with placeholders in place of secrets. */
export interface SentBody {
  readonly bytes: Buffer;
  readonly contentType: string;
}

/** The text of a body as readers may see it. `fields`: names of what is masked as well. */
export type MaskBody = (body: SentBody, fields?: readonly string[]) => Promise<string>;

/**
 * The mask writes `***` for credentials (`isCredential`), and for members, elements, attributes and form fields whose names contain one of the
 * words, in any case. A text of another type is searched as JSON, and stays as it is where it is none. Bytes that are no UTF-8 become U+FFFD.
 */
export function createBodyMask(words: readonly string[]): MaskBody {
  const lower = words.map((word) => word.toLowerCase());
  const isHidden = (name: string): boolean => {
    const text = name.toLowerCase();
    return lower.some((word) => text.includes(word)) || isCredential(name);
  };
  return async ({ bytes, contentType }, fields = []) => {
    const hides = (name: string): boolean => fields.includes(name) || isHidden(name);
    const text = bytes.toString();
    const type = readMediaType(contentType) ?? { essence: '' };
    if (isXml(type)) return maskElements(text, hides, maskedMember);
    if (isForm(type))
      return text.replaceAll(/([^&=]*)=[^&]*/gu, (field, name: string) =>
        hides(fieldName(name)) ? `${name}=${maskedMember}` : field,
      );
    try {
      return await maskMembersInSteps(text, hides);
    } catch {
      return text;
    }
  };
}

function fieldName(written: string): string {
  return new URLSearchParams(`${written}=`).keys().next().value ?? written;
}
