/** A bar of a chart. `own`: a bar of the gateway, in another colour. */
interface Bar {
  readonly name: string;
  readonly value: number;
  readonly own: boolean;
}

const [width, left, right, rowHeight, top] = [760, 230, 70, 28, 48];

/** Horizontal bars as SVG, legible on light and dark backgrounds; `mark` is a line across them. */
export function barChart(title: string, bars: readonly Bar[], mark: number): string {
  const height = top + bars.length * rowHeight + 30;
  const scale = (width - left - right) / Math.max(mark, ...bars.map(({ value }) => value));
  const rows = bars.map(({ name, value, own }, index) => {
    const y = top + index * rowHeight;
    return [
      `<text x="${left - 8}" y="${y + 17}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${left}" y="${y + 3}" width="${(value * scale).toFixed(1)}" height="${rowHeight - 8}" fill="${own ? '#0969da' : '#8c959f'}"/>`,
      `<text x="${(left + value * scale + 6).toFixed(1)}" y="${y + 17}">${value.toFixed(2)}</text>`,
    ].join('\n');
  });
  const x = (left + mark * scale).toFixed(1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    `<style>text { fill: #1f2328 } @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }</style>`,
    `<text x="8" y="24" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...rows,
    `<line x1="${x}" y1="${top - 8}" x2="${x}" y2="${height - 26}" stroke="#cf222e" stroke-dasharray="4 3"/>`,
    `<text x="${x}" y="${height - 10}" text-anchor="middle">mark ${mark}</text>`,
    '</svg>\n',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
