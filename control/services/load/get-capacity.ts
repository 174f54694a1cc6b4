/**
 * Reads a cell's capacity (decisions §7.4).
 */
import type { Capacity } from "../../../shared/schema/load.ts";
import { type CellDirectory, callCell, cellOf } from "../../cells/cell-directory.ts";

/** Throws 404, 502. */
export async function getCapacity(directory: CellDirectory, query: unknown): Promise<Capacity> {
  const address = cellOf(directory, query);
  const { max_in_flight, cell } = await callCell(address, async () => await directory.cells.stats(address));
  return { max_in_flight, cell };
}
