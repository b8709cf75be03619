/** Equal for names that look alike or differ in case alone: Unicode NFKC, and both cases folded, since some letters have one of them only. */
export function foldedName(name: string): string {
  return name.normalize('NFKC').trim().toUpperCase().toLowerCase().normalize('NFKC');
}
