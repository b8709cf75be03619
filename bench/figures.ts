/** The median; for an even number of values the upper of the two middle ones. 0 for no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which `part` (0 to 1) of the values lie; 0 for no values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Growth of y for each unit of x, by least squares; 0 where all points have the same x. */
export function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))];
  const spread = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  return spread > 0 ? points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / spread : 0;
}
