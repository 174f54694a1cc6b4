/** What a request without an answer waits for, in words. */
import { useQuery } from "@tanstack/react-query";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { explainCallWait } from "../../explain/explain-waiting.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { formatMs } from "../../ui/format.ts";
import type { Exchange } from "./conversation.ts";

const text = texts("playground", playgroundTexts);
const EVERY_MS = 2000;

/** The scheduler's reasons are for admins; others see what their tenant's requests do. */
export function Waiting({ exchange }: { readonly exchange: Exchange }) {
  const { role, tenant_id } = useCurrentUser();
  return role === "admin" || tenant_id === null ? (
    <LiveWait exchange={exchange} />
  ) : (
    <TenantWait exchange={exchange} tenantId={tenant_id} />
  );
}

function LiveWait({ exchange: { model, tenantId, sentAtMs, headers } }: { readonly exchange: Exchange }) {
  const { data, dataUpdatedAt } = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: EVERY_MS }));
  const call = { tenantId, model, waitedMs: dataUpdatedAt - sentAtMs };
  const why = data === undefined || headers !== null ? null : explainCallWait(data, call);
  return why === null ? text("running") : `${text("waitsForSlot")} ${why}`;
}

function TenantWait({ exchange, tenantId }: { readonly exchange: Exchange; readonly tenantId: string }) {
  const params = { path: { id: tenantId } };
  const { data, dataUpdatedAt } = useQuery(read("/api/v1/tenants/{id}/load", { params }, { everyMs: EVERY_MS }));
  const waitedMs = dataUpdatedAt - exchange.sentAtMs;
  if (data === undefined || exchange.headers !== null || waitedMs < 0) return text("running");
  const { queued, in_flight, oldest_wait_ms: oldestMs } = data;
  // Only younger requests wait: this one has a slot.
  if (oldestMs === null || oldestMs + EVERY_MS < waitedMs) return text("running");
  const longest = formatMs(oldestMs);
  return `${text("waitsForSlot")} ${text("tenantWaits", { count: queued, running: in_flight, longest })}`;
}
