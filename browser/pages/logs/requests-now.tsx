import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { cellRows, loadOfAll } from "../../explain/cell-rows.ts";
import { explainLoad, loadText } from "../../explain/explain-waiting.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import classes from "./logs-page.module.css";

const text = texts("logs", logsTexts);
const EVERY_MS = 5000;

/** What runs and waits now, of a tenant or of all: the list has a request only once it has ended. */
export function RequestsNow({ tenantId: id = "" }: { readonly tenantId: string | undefined }) {
  const isOfTenant = id !== "";
  const own = useQuery(
    read("/api/v1/tenants/{id}/load", { params: { path: { id } } }, { everyMs: EVERY_MS, enabled: isOfTenant }),
  );
  const all = useQuery(read("/api/v1/stats", {}, { everyMs: EVERY_MS, enabled: !isOfTenant }));
  const { inFlight: running, queued } = loadOfAll(cellRows(all.data?.cells ?? [], [], serverTimeOf(all.dataUpdatedAt)));
  const said = own.data === undefined ? `${loadText(running, queued)}.` : explainLoad(own.data);
  return (
    <p className={classes["now"]}>
      {text("now")} {said}{" "}
      {useCurrentUser().role === "admin" ? (
        <Link to="/fairshare" search={isOfTenant ? { tenant_id: id } : {}}>
          {text("whoWaits")}
        </Link>
      ) : (
        <Link to="/portal/limits">{text("limits")}</Link>
      )}
    </p>
  );
}
