import { ArrowUp, Pause, Play, Terminal } from "lucide-react";
import { ColumnChoice } from "../../forms/list/column-choice.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { logViewsTexts } from "../../messages/en/log-views.ts";
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
const viewText = texts("log-views", logViewsTexts);

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
        columns={columnsFor(role).map(({ id, name }) => ({ id, head: name }))}
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
  readonly isFollowing: boolean;
  /** The period has ended: nothing arrives any more. */
  readonly isOver: boolean;
  /** Somebody reads, so that nothing moves although the list follows. */
  readonly isHeld: boolean;
  readonly hasFailed: boolean;
  readonly waiting: { readonly count: number; readonly isMore: boolean };
  readonly onShow: () => void;
  readonly onFollow: (isFollowing: boolean) => void;
}

/** How many requests have come since the list was read, and whether it takes them in without a click. */
export function LiveState({ isFollowing, isOver, isHeld, hasFailed, waiting, onShow, onFollow }: LiveStateProps) {
  if (isOver) return <Badge>{text("liveOver")}</Badge>;
  const { count, isMore } = waiting;
  return (
    <div className={classes["live"]} role="status">
      {(!isFollowing || isHeld) && count > 0 && (
        <Button tone="primary" icon={<ArrowUp size={14} aria-hidden />} onClick={onShow}>
          {viewText(isMore ? "newRequestsMore" : "newRequests", { count })}
        </Button>
      )}
      {hasFailed ? (
        <Badge tone="bad">{text("liveFailed")}</Badge>
      ) : (
        isFollowing && <Badge tone={isHeld ? "neutral" : "good"}>{viewText(isHeld ? "followHeld" : "following")}</Badge>
      )}
      <Button
        icon={isFollowing ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
        onClick={() => onFollow(!isFollowing)}
      >
        {viewText(isFollowing ? "unfollow" : "follow")}
      </Button>
    </div>
  );
}
