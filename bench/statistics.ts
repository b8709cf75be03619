/** Of an even number of values the upper one of the middle; 0 where there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that `part` (0 to 1) of the values lie below; 0 where there are none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What y gains for each unit of x, by least squares; 0 where the points do not say. */
export function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))];
  const spread = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  return spread > 0 ? points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / spread : 0;
}
