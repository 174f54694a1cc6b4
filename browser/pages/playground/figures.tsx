import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UsageLog } from "../../../shared/schema/usage.ts";
import { read } from "../../data/reads.ts";
import { RowCost } from "../../forms/usage/cost.tsx";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatMs } from "../../ui/format.ts";
import type { Exchange } from "./conversation.ts";
import classes from "./playground-page.module.css";

const text = texts("playground", playgroundTexts);
const LOOK_EVERY_MS = 2000;
/** A row that has not come by then is another tenant's, or on its way for long. */
const LOOKS_MAX = 30;

type Row = Partial<UsageLog> & Pick<UsageLog, "request_id">;

/** The request's row once it has arrived. Only rows that the person may see are found. */
export function useRow({ state, headers }: Pick<Exchange, "state" | "headers">): Row | undefined {
  const requestId = headers?.["x-gateway-request-id"] ?? "";
  const query = { request_id: requestId, limit: "1" };
  const rows = useQuery({
    ...read("/api/v1/usage/logs", { params: { query } }, { enabled: requestId !== "" && state !== "running" }),
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data?.[0] === undefined && dataUpdateCount < LOOKS_MAX ? LOOK_EVERY_MS : false,
  });
  return rows.isPlaceholderData ? undefined : (rows.data?.[0] as Row | undefined);
}

/** What a request cost and how long it took: from its row, until then from what the browser saw. */
export function Figures({ exchange, row }: { readonly exchange: Exchange; readonly row: Row | undefined }) {
  const { headers, firstMs, totalMs, state } = exchange;
  if (state === "running" || headers === null) return null;
  const header = (name: string): string | undefined => headers[`x-gateway-${name}`];
  const requestId = header("request-id");
  const overhead = Number(header("overhead-ms") ?? Number.NaN);
  const chosen = header("model");
  const left = headers["x-ratelimit-remaining-tokens"];
  const figures: readonly (readonly [string, ReactNode] | null)[] = [
    [text("cost"), <RowCost key="cost" row={row} />],
    [
      text("tokens"),
      row === undefined ? formatCount(null) : `${formatCount(row.input_tokens)} + ${formatCount(row.output_tokens)}`,
    ],
    part("cached", row?.cached_tokens),
    part("reasoningTokens", row?.reasoning_tokens),
    [text("first"), formatMs(known(row?.ttft_ms) ?? firstMs)],
    [text("total"), formatMs(row?.total_ms ?? totalMs)],
    [text("queue"), formatMs(row?.queue_wait_ms)],
    [text("gateway"), formatMs(row?.gateway_ms ?? overhead)],
    optional("cache", header("cache")),
    optional("boons", header("boons")),
    optional("warnings", header("boons-warning")),
    optional("compression", header("compression")?.replaceAll(";", ", ").replaceAll("=", " ")),
    optional("chosen", chosen === undefined ? undefined : decoded(chosen)),
    left === undefined ? null : [text("left"), formatCount(Number(left))],
  ];
  return (
    <footer className={classes["figures"]}>
      <dl>
        {figures
          .filter((figure) => figure !== null)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {requestId !== undefined && (
        <Link to="/logs" search={{ open: requestId }}>
          {text("openRow")}
        </Link>
      )}
    </footer>
  );
}

/** A part of the tokens that has a price of its own, where there is any. */
function part(name: "cached" | "reasoningTokens", tokens: number | undefined) {
  return tokens === undefined || tokens === 0 ? null : ([text(name), formatCount(tokens)] as const);
}

function optional(name: "cache" | "boons" | "warnings" | "compression" | "chosen", value: string | undefined) {
  return value === undefined ? null : ([text(name), value] as const);
}

/** A row has 0 for what did not happen. */
function known(ms: number | undefined): number | null {
  return ms === undefined || ms === 0 ? null : ms;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
