/** The colours of series, in their order: the tokens `--series-1` to `--series-8`, and then from the first again. */
export const SERIES_COLORS = 8;

/** The colour of the series at a position, as a value of CSS. */
export function seriesColor(at: number): string {
  return `var(--series-${(at % SERIES_COLORS) + 1})`;
}
