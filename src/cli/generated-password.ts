import { randomInt } from 'node:crypto';

/** No letters that are mistaken for each other when read aloud or typed (0 O, 1 l I), and nothing a shell would interpret. */
const alphabet = '23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ';

/** A password of 22 characters, some 128 bits of chance. */
export function generatedPassword(): string {
  return Array.from({ length: 22 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
