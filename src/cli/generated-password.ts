import { randomInt } from 'node:crypto';

/**
 * Without characters that are easily confused when read aloud or typed (0 O, 1 l I), and without special characters of shells.
 */
const alphabet = '23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ';

/** A password of 22 characters, with about 128 bits of entropy. */
export function generatedPassword(): string {
  return Array.from({ length: 22 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
