/**
 * The end of a request that its budgets refused, or whose client left while it waited: its row travels by its permit, so that
 * it is written once whatever happens to this Worker (design §4). It holds no slot and no tokens any more.
 */
import type { PermitHandle } from "../../domain/admission/rpc.ts";
import type { Call } from "../call/context.ts";
import { reportEnd } from "../report/report-end.ts";
import { usageRowOf } from "../report/usage-row.ts";

/** Hands the row in without holding the answer up. */
export function settleWithoutSlot(
  call: Call,
  permit: PermitHandle,
  statusCode: number,
  admission: "rejected" | "queued" = "rejected",
): void {
  const row = usageRowOf(call, { statusCode, admission });
  reportEnd(call, row);
  const deliver = async (): Promise<void> => {
    try {
      await permit.settle({ row, actualTokens: 0 });
    } catch {
      await call.ports.admission.settleOrphan(row);
    } finally {
      permit[Symbol.dispose]();
    }
  };
  call.waitUntil(deliver());
}
