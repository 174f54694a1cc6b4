/**
 * Reads and sets a cell's capacity, live: waiting requests are granted at once, running ones are never aborted
 * (docs/rules/fairshare.md#capacity). The cell keeps the capacity; the database knows its revision.
 */
import { eq } from "drizzle-orm";
import { pgTable, text } from "drizzle-orm/pg-core";
import { type Capacity, setCapacitySchema } from "../../shared/schema/load.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { revColumn } from "../db/schema/columns.ts";
import { type CellDirectory, callCell, cellOf } from "../kernel/cells/cell-directory.ts";
import type { CellAddress } from "../kernel/cells/cells.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";

const cellCapacities = pgTable("cell_capacities", { cell: text("cell").primaryKey(), ...revColumn });

/** Throws 404, 502, 503. */
export async function getCapacity({ db }: VerbContext, directory: CellDirectory, query: unknown): Promise<Capacity> {
  const address = cellOf(directory, query);
  // First the revision: with a newer capacity, an older one only causes a 412. The reverse could lose a change.
  const rev = await withDatabaseErrors(async () => await revisionOf(db, address));
  return await capacityNow(directory, address, rev);
}

/**
 * Throws 400, 404, 502. When the cell does not confirm the capacity, nothing is audited. It may have taken it all the same, so the
 * revision is a new one.
 */
export async function setCapacity(
  ctx: VerbContext,
  directory: CellDirectory,
  query: unknown,
  input: unknown,
): Promise<Written<Capacity>> {
  const address = cellOf(directory, query);
  const body = parse(setCapacitySchema, input);
  // Calls the cell before the write begins: a write that waited for a cell which is down would hold back every other write.
  const seen = await getCapacity(ctx, directory, query);
  let isTold = false;
  const written = write(ctx, async (tx, journal) => {
    const rev = await revisionOf(tx, address);
    const before = rev === seen.rev ? seen : await capacityNow(directory, address, rev);
    ctx.checkRecord?.(before);
    await renew(tx, address, journal.rev);
    journal.audit({
      action: "set_capacity",
      entityType: "settings",
      entityId: address.cell,
      detail: { changed: { max_in_flight: [before.max_in_flight, body.max_in_flight] } },
    });
    isTold = true;
    const { max_in_flight, cell } = await callCell(
      address,
      async () => await directory.cells.setCapacity(address, body.max_in_flight),
    );
    return { max_in_flight, cell, rev: journal.rev };
  });
  return await written.catch(async (error: unknown) => {
    if (isTold) await write(ctx, async (tx, journal) => await renew(tx, address, journal.rev)).catch(() => undefined);
    throw error;
  });
}

async function renew(tx: Transaction, { cell }: CellAddress, rev: number): Promise<void> {
  const row = { cell, rev };
  await tx.insert(cellCapacities).values(row).onConflictDoUpdate({ target: cellCapacities.cell, set: row });
}

async function capacityNow({ cells }: CellDirectory, address: CellAddress, rev: number): Promise<Capacity> {
  const { max_in_flight, cell } = await callCell(address, async () => await cells.stats(address));
  return { max_in_flight, cell, rev };
}

/** 0: the capacity was never set. */
async function revisionOf(db: Database | Transaction, { cell }: CellAddress): Promise<number> {
  const [row] = await db.select().from(cellCapacities).where(eq(cellCapacities.cell, cell));
  return row?.rev ?? 0;
}
