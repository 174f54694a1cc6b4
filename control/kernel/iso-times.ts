/** Shows the times of a row as records have them: ISO 8601 texts in UTC. */

type IsoTimes<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K] };

/** The row with every time as a text. */
export function withIsoTimes<T extends object>(row: T): IsoTimes<T> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  ) as IsoTimes<T>;
}
