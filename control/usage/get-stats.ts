/**
 * Live load: of one cell, or of the control service's own cell and every cell seen in the last day
 * (docs/rules/fairshare.md#stats). A cell that does not answer shows its last values in the list. When it is the requested
 * cell, the answer is 502.
 */
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import type { CellSeen } from "../../shared/records.ts";
import type { CellStats } from "../../shared/wire/internal.ts";
import { BRIEF_DEADLINE_MS, type Cells } from "../kernel/cells/cells.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { parse } from "../kernel/parse.ts";

const SEEN_FOR_MS = 24 * 60 * 60 * 1000;

const querySchema = z.object({ cell: z.string().optional() });

export const statsSchema = z
  .object({
    in_flight: z.number().int(),
    queued: z.number().int(),
    max_in_flight: z.number().int(),
    cell: z.string(),
    cells: z
      .array(
        z.object({
          cell: z.string(),
          in_flight: z.number().int(),
          queued: z.number().int(),
          max_in_flight: z.number().int(),
          last_seen_ms: z.number().int(),
        }),
      )
      .optional(),
  })
  .meta({ id: "Stats" });
export type Stats = z.infer<typeof statsSchema>;

/** Throws 404 for an unknown cell, 502 `cell_unreachable`. */
export async function getStats(
  ctx: VerbContext,
  own: string,
  cells: Cells,
  store: HotStore,
  input: unknown,
): Promise<Stats> {
  const { cell } = parse(querySchema, input);
  if (cell !== undefined) return await statsOf(cells, cell);
  const current = await statsOf(cells, own);
  return { ...current, cells: await allCells(ctx.now().getTime(), cells, store) };
}

async function statsOf(cells: Cells, name: string): Promise<CellStats> {
  const address = cells.addresses.find((entry) => entry.cell === name);
  if (address === undefined) throw new GatewayError("not_found");
  try {
    const { in_flight, queued, max_in_flight, cell } = await cells.stats(address);
    return { in_flight, queued, max_in_flight, cell };
  } catch (error) {
    throw new GatewayError("cell_unreachable", { value: name, cause: error });
  }
}

async function allCells(nowMs: number, cells: Cells, store: HotStore): Promise<NonNullable<Stats["cells"]>> {
  const seen = new Map<string, CellSeen>(await store.cells().catch(() => new Map<string, CellSeen>()));
  await Promise.all(
    cells.addresses.map(async (address) => {
      const stats = await cells.stats(address, BRIEF_DEADLINE_MS).catch(() => null);
      if (stats !== null) seen.set(address.cell, { ...stats, last_seen_ms: nowMs });
    }),
  );
  return [...seen]
    .filter(([, state]) => nowMs - state.last_seen_ms < SEEN_FOR_MS)
    .map(([cell, { in_flight, queued, max_in_flight, last_seen_ms }]) => ({
      cell,
      in_flight,
      queued,
      max_in_flight,
      last_seen_ms,
    }))
    .sort((a, b) => (a.cell < b.cell ? -1 : 1));
}
