import { useState } from "react";
import type { Facet, UsageLogFacets } from "../../../shared/schema/log-facets.ts";
import { logCountsTexts } from "../../messages/en/log-counts.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import classes from "./log-facets.module.css";
import type { LogsSearch, SearchChanges } from "./logs-search.ts";

const text = texts("log-counts", logCountsTexts);
const SHOWN = 4;

/** Filters in words. */
export interface FilterWords {
  readonly name: (filter: Facet) => string;
  /** `named`: what the tenant or key is called. */
  readonly value: (filter: Facet, value: string, named: string | undefined) => string;
}

interface FacetsProps {
  readonly counted: UsageLogFacets;
  readonly search: LogsSearch;
  readonly words: FilterWords;
  readonly onChange: (changes: SearchChanges) => void;
}

/** How many requests each value would leave; a click filters by the value, a second one no longer does. */
export function LogFacets({ counted, search, words, onChange }: FacetsProps) {
  const [isWhole, setWhole] = useState(false);
  const choose = (facet: Facet, value: string | undefined): void =>
    onChange({ [facet]: value, ...(facet === "tenant_id" ? { key_id: undefined } : {}) } as SearchChanges);
  const hasMore = counted.facets.some(({ values }) => values.length > SHOWN);
  return (
    <section className={classes["facets"]} aria-label={text("facets")}>
      <div className={classes["columns"]}>
        {counted.facets.map(({ facet, values, has_more }) => (
          <section key={facet} className={classes["facet"]} aria-label={words.name(facet)}>
            <h3>{words.name(facet)}</h3>
            {values.length === 0 && <p className={classes["none"]}>{text("facetNone")}</p>}
            <ul>
              {values.slice(0, isWhole ? undefined : SHOWN).map(({ value, name, requests }) => {
                const isChosen = search[facet]?.toLowerCase() === value.toLowerCase();
                const label = words.value(facet, value, name);
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
