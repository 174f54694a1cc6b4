import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { read } from "../../data/reads.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import classes from "./secret-dialog.module.css";

const text = texts("keys", keysTexts);
const LOOK_EVERY_MS = 2000;

/** Waits for the first request of a key since `sinceMs` (epoch ms), and leads to its row. */
export function FirstRequest({ keyId, sinceMs }: { readonly keyId: string; readonly sinceMs: number }) {
  const query = { key_id: keyId, limit: "1", since_ms: String(sinceMs) };
  const rows = useQuery({
    ...read("/api/v1/usage/logs", { params: { query } }),
    refetchInterval: ({ state }) => (state.data?.[0] === undefined ? LOOK_EVERY_MS : false),
  });
  const row = rows.data?.[0];
  if (row === undefined)
    return (
      <div className={classes["waiting"]} role="status">
        <span className={classes["dot"]} aria-hidden />
        <strong>{text("waiting")}</strong>
        <p>{text("waitingText")}</p>
      </div>
    );
  return (
    <Notice tone={row.status_code < 400 ? "good" : "warn"}>
      {text("arrived", { status: row.error_code === "" ? row.status_code : `${row.status_code} ${row.error_code}` })}{" "}
      <Link to="/logs" search={{ open: row.request_id }}>
        {text("openRow")}
      </Link>
    </Notice>
  );
}
