/**
 * Reads and sets a cell's capacity, live: waiting requests are granted at once, running ones are never aborted
 * (docs/rules/fairshare.md#capacity).
 */
import { type Capacity, setCapacitySchema } from "../../shared/schema/load.ts";
import { type CellDirectory, callCell, cellOf } from "../kernel/cells/cell-directory.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";

/** Throws 404, 502. */
export async function getCapacity(directory: CellDirectory, query: unknown): Promise<Capacity> {
  const address = cellOf(directory, query);
  const { max_in_flight, cell } = await callCell(address, async () => await directory.cells.stats(address));
  return { max_in_flight, cell };
}

/** Throws 400, 404, 502. When the cell does not take the capacity, nothing is recorded. */
export async function setCapacity(
  ctx: VerbContext,
  directory: CellDirectory,
  query: unknown,
  input: unknown,
): Promise<Written<Capacity>> {
  const address = cellOf(directory, query);
  const body = parse(setCapacitySchema, input);
  // Calls the cell before the write begins: a write that waited for a cell which is down would hold back every other write.
  const before = await callCell(address, async () => await directory.cells.stats(address));
  ctx.judge?.({ max_in_flight: before.max_in_flight, cell: before.cell });
  return await write(ctx, async (_tx, journal) => {
    journal.audit({
      action: "set_capacity",
      entityType: "settings",
      entityId: address.cell,
      detail: { changed: { max_in_flight: [before.max_in_flight, body.max_in_flight] } },
    });
    const { max_in_flight, cell } = await callCell(
      address,
      async () => await directory.cells.setCapacity(address, body.max_in_flight),
    );
    return { max_in_flight, cell };
  });
}
