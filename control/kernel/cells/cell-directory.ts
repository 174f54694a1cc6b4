/**
 * Finds the cell that a request is about: the cell that it names, else the control service's own
 * (docs/rules/fairshare.md#capacity).
 */
import { z } from "zod";
import { GatewayError } from "../../../shared/errors.ts";
import { parse } from "../parse.ts";
import type { CellAddress, Cells } from "./cells.ts";

/** The configured cells, and which of them is the control service's own. */
export interface CellDirectory {
  readonly cells: Cells;
  readonly own: string;
}

export const cellQuerySchema = z.object({ cell: z.string().optional() });

/** The cell that the query names. Throws 404 for a cell that is not configured. */
export function cellOf({ cells, own }: CellDirectory, query: unknown): CellAddress {
  const name = parse(cellQuerySchema, query).cell ?? own;
  const address = cells.addresses.find((entry) => entry.cell === name);
  if (address === undefined) throw new GatewayError("not_found");
  return address;
}

/** Runs a call to a cell. Throws 502 `cell_unreachable`. */
export async function callCell<T>(address: CellAddress, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new GatewayError("cell_unreachable", { value: address.cell, cause: error });
  }
}
