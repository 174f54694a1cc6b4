/** The last failed requests of a tenant or a model, each with its page. */
import { useQuery } from "@tanstack/react-query";
import { errorName } from "../../explain/explain-error.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatMs } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { lastFailures, type ObjectFilter } from "./day-tiles.tsx";
import classes from "./last-failures.module.css";

const text = texts("usage", usageTexts);

export function LastFailures({ filter }: { readonly filter: ObjectFilter }) {
  const failures = useQuery(lastFailures(filter));
  return (
    <Panel
      title={text("lastFailures")}
      actions={
        <TargetLink target={pageTarget("/logs", { ...filter, status: "failed" })}>{text("allFailures")}</TargetLink>
      }
    >
      <Loaded state={failures}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={text("noFailures")}>{text("noFailuresText")}</Empty>
          ) : (
            <ul className={classes["list"]}>
              {rows.map((row) => (
                <li key={row.request_id}>
                  <Badge tone="bad">{row.status_code}</Badge>
                  <TargetLink target={pageTarget("/logs", { ...filter, status: "failed", open: row.request_id })}>
                    {row.error_code === "" ? text("upstreamFailed") : errorName(row.error_code)}
                  </TargetLink>
                  <bdi>{"model" in filter ? row.tenant_name : row.model || text("noModel")}</bdi>
                  <span className={classes["end"]}>
                    {formatMs(row.total_ms)} · <Age at={row.ts_ms} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}
