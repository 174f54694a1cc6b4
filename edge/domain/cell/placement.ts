/**
 * Which cell a request belongs to: the one that serves the data centre it arrived at, else the one that serves its
 * continent, else the Worker's own (docs/rules/configuration.md#cells). The first in the list that matches.
 */

/** The places that a cell serves. */
interface CellCoverage {
  readonly cell: string;
  readonly continents: readonly string[];
  readonly colos: readonly string[];
}

/** Where a request arrived, as far as the platform says: data centre (IATA code) and continent (two letters). */
export interface RequestOrigin {
  readonly colo?: unknown;
  readonly continent?: unknown;
}

/** The name of the cell. A single machine has no place, and every request belongs to its own cell. */
export function cellFor(arrived: RequestOrigin | undefined, cells: readonly CellCoverage[], own: string): string {
  const { colo, continent } = arrived ?? {};
  const found =
    cells.find((cell) => typeof colo === "string" && cell.colos.includes(colo)) ??
    cells.find((cell) => typeof continent === "string" && cell.continents.includes(continent));
  return found?.cell ?? own;
}
