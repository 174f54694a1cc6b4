import { useState } from "react";
import type { Facet, UsageLogFacets } from "../../../shared/schema/log-facets.ts";
import { oneLine } from "../../../shared/text/printable.ts";
import { errorName } from "../../explain/explain-error.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import classes from "./log-facets.module.css";
import { type LogsSearch, type SearchChanges, STATUS_TEXTS, TYPE_TEXTS } from "./logs-search.ts";

const text = texts("log-views", logViewsTexts);
const logText = texts("logs", logsTexts);
const SHOWN = 5;

const NAMES = {
  status: "facetStatus",
  model: "facetModel",
  tenant_id: "facetTenant",
  key_id: "facetKey",
  error_code: "facetError",
  request_type: "facetType",
} as const satisfies Record<Facet, keyof typeof logViewsTexts>;

interface FacetsProps {
  readonly counted: UsageLogFacets;
  readonly search: LogsSearch;
  readonly onChange: (changes: SearchChanges) => void;
}

/** How many requests each value would leave; a click filters by the value, a second one no longer does. */
export function LogFacets({ counted, search, onChange }: FacetsProps) {
  const [isWhole, setWhole] = useState(false);
  const choose = (facet: Facet, value: string | undefined): void =>
    onChange({ [facet]: value, ...(facet === "tenant_id" ? { key_id: undefined } : {}) } as SearchChanges);
  const hasMore = counted.facets.some(({ values }) => values.length > SHOWN);
  return (
    <section className={classes["facets"]} aria-label={text("facets")}>
      <div className={classes["columns"]}>
        {counted.facets.map(({ facet, values, has_more }) => (
          <section key={facet} className={classes["facet"]} aria-label={text(NAMES[facet])}>
            <h3>{text(NAMES[facet])}</h3>
            {values.length === 0 && <p className={classes["none"]}>{text("facetNone")}</p>}
            <ul>
              {values.slice(0, isWhole ? undefined : SHOWN).map(({ value, name, requests }) => {
                const isChosen = search[facet]?.toLowerCase() === value.toLowerCase();
                const label = valueName(facet, value, name);
                return (
                  <li key={value}>
                    <button
                      type="button"
                      aria-pressed={isChosen}
                      title={label}
                      onClick={() => choose(facet, isChosen ? undefined : value)}
                    >
                      <bdi>{label}</bdi>
                      <span className={classes["count"]}>{formatCount(requests)}</span>
                    </button>
                  </li>
                );
              })}
            </ul>
            {isWhole && has_more && <p className={classes["none"]}>{text("facetMore")}</p>}
          </section>
        ))}
      </div>
      {hasMore && (
        <Button tone="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {text(isWhole ? "fewerValues" : "moreValues")}
        </Button>
      )}
    </section>
  );
}

/** A value in words. */
function valueName(facet: Facet, value: string, name: string): string {
  if (facet === "status" && Object.hasOwn(STATUS_TEXTS, value))
    return logText(STATUS_TEXTS[value as keyof typeof STATUS_TEXTS]);
  if (facet === "request_type" && Object.hasOwn(TYPE_TEXTS, value))
    return logText(TYPE_TEXTS[value as keyof typeof TYPE_TEXTS]);
  if (facet === "error_code") return errorName(oneLine(value));
  if (facet === "tenant_id" || facet === "key_id") return name === "" ? text("unknownName") : oneLine(name);
  return oneLine(value);
}
