import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { read } from "../../data/reads.ts";
import { comparisonTexts } from "../../messages/en/log-comparison.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { CheckField } from "../../ui/fields.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import classes from "./compare-panel.module.css";
import { comparedFields } from "./comparison.ts";
import type { SeenLog } from "./log-columns.tsx";

const text = texts("log-comparison", comparisonTexts);
const logText = texts("logs", logsTexts);

interface CompareProps {
  readonly ids: readonly [string, string];
  /** Rows of the list, where they are there; the others are read. */
  readonly rows: readonly SeenLog[];
}

/** Two requests side by side, with their differences marked. */
export function ComparePanel({ ids, rows }: CompareProps) {
  const { zone } = useZone();
  const [isOnly, setOnly] = useState(false);
  const [first, second] = [useRow(ids[0], rows), useRow(ids[1], rows)];
  const gone = [first, second].find(({ error }) => error?.status === 404);
  if (gone !== undefined) return <Empty title={logText("requestGoneTitle")}>{logText("requestGone")}</Empty>;
  const both = first.data === undefined || second.data === undefined ? undefined : ([first.data, second.data] as const);
  const failed = first.error === null ? second : first;
  return (
    <Loaded state={{ ...failed, data: both }}>
      {([one, other]) => {
        const fields = comparedFields(one, other, zone);
        const different = fields.filter(({ isDifferent }) => isDifferent);
        return (
          <>
            <div className={classes["head"]}>
              <strong>{text("compareDiffers", { count: different.length })}</strong>
              <CheckField
                label={text("compareOnly")}
                checked={isOnly}
                onChange={({ target }) => setOnly(target.checked)}
              />
            </div>
            {isOnly && different.length === 0 ? (
              <p>{text("compareSame")}</p>
            ) : (
              <table className={classes["table"]} aria-label={text("compare")}>
                <thead>
                  <tr>
                    <th scope="col">{text("compareFact")}</th>
                    <th scope="col">{text("compareFirst")}</th>
                    <th scope="col">{text("compareSecond")}</th>
                    <th scope="col">{text("compareChange")}</th>
                  </tr>
                </thead>
                <tbody>
                  {(isOnly ? different : fields).map(({ name, first: a, second: b, isDifferent, change }) => (
                    <tr key={name} data-different={isDifferent || undefined}>
                      <th scope="row">{name}</th>
                      <td>
                        <bdi>{a}</bdi>
                      </td>
                      <td>
                        {isDifferent ? (
                          <mark>
                            <bdi>{b}</bdi>
                          </mark>
                        ) : (
                          <bdi>{b}</bdi>
                        )}
                      </td>
                      <td>{change}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** A request, as far as the list has it until the rest is read. A row does not change, so that it is read once. */
function useRow(requestId: string, rows: readonly SeenLog[]) {
  const found = useQuery({
    ...read("/api/v1/usage/logs/{request_id}", { params: { path: { request_id: requestId } } }, { keepsOld: false }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { ...found, data: found.data ?? rows.find(({ request_id }) => request_id === requestId) };
}
