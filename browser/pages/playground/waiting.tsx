/** What a request without an answer waits for, in words. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { explainCallWait, explainOwnCallWait } from "../../explain/explain-waiting.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { formatMs } from "../../ui/format.ts";
import { type Exchange, isAnswered } from "./conversation.ts";

const text = texts("playground", playgroundTexts);
const pageText = texts("pages", pageTexts);
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

function LiveWait({ exchange }: { readonly exchange: Exchange }) {
  const { model, tenantId, sentAtMs } = exchange;
  const { data, dataUpdatedAt } = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: EVERY_MS }));
  const waitedMs = dataUpdatedAt - sentAtMs;
  const why = data === undefined || isAnswered(exchange) ? null : explainCallWait(data, { tenantId, model, waitedMs });
  if (why === null) return text("running");
  return (
    <>
      {waitText(waitedMs, why)} <Link to="/fairshare">{pageText("fairshare")}</Link>
    </>
  );
}

function TenantWait({ exchange, tenantId }: { readonly exchange: Exchange; readonly tenantId: string }) {
  const params = { path: { id: tenantId } };
  const { data, dataUpdatedAt } = useQuery(read("/api/v1/tenants/{id}/load", { params }, { everyMs: EVERY_MS }));
  const waitedMs = dataUpdatedAt - exchange.sentAtMs;
  const why = data === undefined || isAnswered(exchange) ? null : explainOwnCallWait(data, waitedMs);
  return why === null ? text("running") : waitText(waitedMs, why);
}

const waitText = (waitedMs: number, why: string): string =>
  `${text("waitsForSlot", { duration: formatMs(waitedMs) })} ${why}`;
