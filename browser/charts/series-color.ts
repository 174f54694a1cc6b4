/**
 * The colours of series: the tokens `--series-1` to `--series-8`. A series keeps its colour while it is shown. The rest
 * series is grey: if it appears, the series that had grey gets another colour.
 */
export const SERIES_COLORS = 8;
/** Identifier of the series that adds up the ones without a colour of their own. */
export const REST_ID = "";
/** The position of grey. */
const REST_AT = SERIES_COLORS - 1;

/** The colour at a position, as a value of CSS; after the last one the first again. */
export function seriesColor(at: number): string {
  return `var(--series-${(at % SERIES_COLORS) + 1})`;
}

/**
 * Positions of colours by identifier, at most eight: known series keep theirs, new ones get the first that is free. Returns
 * `before` if nothing changed.
 */
export function keptColors(before: ReadonlyMap<string, number>, ids: readonly string[]): ReadonlyMap<string, number> {
  const hasRest = ids.includes(REST_ID);
  const after = new Map<string, number>(hasRest ? [[REST_ID, REST_AT]] : []);
  for (const id of ids) {
    const at = before.get(id);
    if (at !== undefined && !after.has(id) && !(hasRest && at === REST_AT)) after.set(id, at);
  }
  const taken = new Set(after.values());
  const free = Array.from({ length: SERIES_COLORS }, (_, at) => at).filter((at) => !taken.has(at));
  for (const id of ids) if (!after.has(id)) after.set(id, free.shift() ?? REST_AT);
  const isSame = after.size === before.size && [...after].every(([id, at]) => before.get(id) === at);
  return isSame ? before : after;
}
