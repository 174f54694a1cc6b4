import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { read } from "../../data/reads.ts";
import { explainRequest } from "../../explain/explain-request.ts";
import { explainLoad } from "../../explain/explain-waiting.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { formatMs } from "../../ui/format.ts";
import { Notice } from "../../ui/states.tsx";
import classes from "./secret-dialog.module.css";

const text = texts("keys", keysTexts);
const LOOK_EVERY_MS = 2000;

interface FirstRequestProps {
  readonly keyId: string;
  readonly tenantId: string;
  readonly sinceMs: number;
}

/** Waits for the first request of a key since `sinceMs` (epoch ms), and leads to its row, which it has once it has ended. */
export function FirstRequest({ keyId, tenantId, sinceMs }: FirstRequestProps) {
  const query = { key_id: keyId, limit: "1", since_ms: String(sinceMs) };
  const rows = useQuery({
    ...read("/api/v1/usage/logs", { params: { query } }),
    refetchInterval: ({ state }) => (state.data?.[0] === undefined ? LOOK_EVERY_MS : false),
  });
  const row = rows.data?.[0];
  const load = useQuery(
    read(
      "/api/v1/tenants/{id}/load",
      { params: { path: { id: tenantId } } },
      { everyMs: LOOK_EVERY_MS, enabled: row === undefined },
    ),
  ).data;
  if (row === undefined)
    return (
      <div className={classes["waiting"]} role="status">
        <span className={classes["dot"]} aria-hidden />
        <strong>{text("waiting")}</strong>
        <p>{load === undefined || load.in_flight + load.queued === 0 ? text("waitingText") : explainLoad(load)}</p>
      </div>
    );
  return (
    <Notice tone={row.status_code < 400 ? "good" : "warn"}>
      {text(row.status_code < 400 ? "works" : "arrived", {
        status: row.status_code,
        time: formatMs(row.total_ms),
        why: explainRequest(row, "user").title,
      })}{" "}
      <Link to="/logs" search={{ open: row.request_id }}>
        {text("openRow")}
      </Link>
    </Notice>
  );
}
