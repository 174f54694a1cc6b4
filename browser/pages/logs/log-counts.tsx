import { useQuery } from "@tanstack/react-query";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { read } from "../../data/reads.ts";
import { logCountsTexts } from "../../messages/en/log-counts.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { Loaded } from "../../ui/states.tsx";
import { type FilterWords, LogFacets } from "./log-facets.tsx";
import { LogHistogram } from "./log-histogram.tsx";
import { isOver, type LogsQuery } from "./logs-query.ts";
import type { LogsSearch, SearchChanges } from "./logs-search.ts";

const text = texts("log-counts", logCountsTexts);
const EVERY_MS = 30_000;

interface CountsProps {
  readonly query: LogsQuery;
  readonly search: LogsSearch;
  /** Whether the list has been read: counts of a long period would keep the store from answering it. */
  readonly isListed: boolean;
  /** Whether the counts by value are shown. */
  readonly isShown: boolean;
  /** A filter and its values in words; `named`: what the tenant or key is called. */
  readonly words: FilterWords;
  readonly onChange: (changes: SearchChanges) => void;
}

/** The requests of the list over time and by value, from one read. */
export function LogCounts({ query, search, isListed, isShown, words, onChange }: CountsProps) {
  const isPast = isOver(query, useNow(QUARTER_MS));
  const counted = useQuery(
    read(
      "/api/v1/usage/logs/facets",
      { params: { query } },
      { enabled: isListed, ...(isPast ? {} : { everyMs: EVERY_MS }) },
    ),
  );
  return (
    <Loaded state={counted} failed={text("chartFailed")}>
      {(answer) => (
        <>
          <LogHistogram counted={answer} isOld={counted.isPlaceholderData} onWindow={onChange} />
          <Button tone="quiet" aria-expanded={isShown} onClick={() => onChange({ facets: isShown ? "off" : "on" })}>
            {text(isShown ? "hideFacets" : "showFacets")}
          </Button>
          {isShown && <LogFacets counted={answer} search={search} words={words} onChange={onChange} />}
        </>
      )}
    </Loaded>
  );
}
