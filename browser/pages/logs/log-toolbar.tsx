import { Pause, Play, Terminal } from "lucide-react";
import { ColumnChoice } from "../../forms/list/column-choice.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.ts";
import { listCall } from "./api-calls.ts";
import { chosenColumns, columnsFor } from "./log-columns.tsx";
import classes from "./logs-page.module.css";
import type { LogsQuery } from "./logs-query.ts";
import type { LogsSearch, SearchChanges } from "./logs-search.ts";
import { LOGS_PATH } from "./use-feed.ts";

const text = texts("logs", logsTexts);

interface ActionsProps {
  readonly query: LogsQuery;
  readonly search: LogsSearch;
  readonly role: "admin" | "user";
  readonly onChange: (changes: SearchChanges) => void;
}

/** What can be done with the list: choose columns, take it along as a file or as a call of the API. */
export function LogActions({ query, search, role, onChange }: ActionsProps) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(listCall(query));
      toast({ title: text("callCopied") });
    } catch {
      toast({ title: text("callFailed"), detail: listCall(query), tone: "warn" });
    }
  };
  return (
    <>
      <ColumnChoice
        columns={columnsFor(role).map(({ id, name }) => ({ id, head: text(name) }))}
        shown={chosenColumns(search, role)}
        onChoose={(columns) => onChange({ columns })}
        onReset={search.columns === undefined ? undefined : () => onChange({ columns: undefined })}
      />
      {role === "admin" && (
        <Button icon={<Terminal size={14} aria-hidden />} onClick={() => void copy()}>
          {text("copyCall")}
        </Button>
      )}
      <CsvLink path={LOGS_PATH} query={query} title={text("csvHint")} />
    </>
  );
}

interface LiveStateProps {
  readonly isPaused: boolean;
  /** The period has ended: nothing arrives any more. */
  readonly isOver: boolean;
  /** What arrives stays aside while somebody reads. */
  readonly isHeld: boolean;
  /** `loading` and `failed`: the list does not follow what happens. */
  readonly reading: "good" | "loading" | "failed";
  readonly waiting: { readonly count: number; readonly isMore: boolean };
  readonly onShow: () => void;
  readonly onPause: (isPaused: boolean) => void;
}

/** Whether the list follows what happens, and what has come meanwhile. */
export function LiveState({ isPaused, isOver, isHeld, reading, waiting, onShow, onPause }: LiveStateProps) {
  if (isOver) return <Badge>{text("liveOver")}</Badge>;
  const { count, isMore } = waiting;
  return (
    <div className={classes["live"]} role="status">
      {!isPaused && isHeld && count > 0 && (
        <Button tone="primary" onClick={onShow}>
          {text(isMore ? "showNewMore" : "showNew", { count })}
        </Button>
      )}
      {isPaused ? (
        <Badge>{text("livePaused")}</Badge>
      ) : reading === "failed" ? (
        <Badge tone="bad">{text("liveFailed")}</Badge>
      ) : isHeld || reading === "loading" ? (
        <Badge>{text(isHeld ? "liveHeld" : "liveLoading")}</Badge>
      ) : (
        <Badge tone="good">{text("live")}</Badge>
      )}
      <Button
        icon={isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
        onClick={() => onPause(!isPaused)}
      >
        {text(isPaused ? "resume" : "pause")}
      </Button>
    </div>
  );
}
