import { AlertTriangle, RotateCw } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { STATE_TEXTS } from "../messages/common.ts";
import { Button } from "./button.tsx";
import { StateIcon } from "./state-icon.tsx";
import classes from "./states.module.css";

const LOADING_AFTER_MS = 200;

/** A read as a page has it: the shape of a query's result. */
export interface ReadState<T> {
  readonly data: T | undefined;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly isFetching: boolean;
  readonly refetch: () => unknown;
}

/** True once something has taken so long that a person should see that it is under way. */
function useIsSlow(isUnderWay: boolean): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isUnderWay) {
      setSlow(false);
      return;
    }
    const timer = setTimeout(() => setSlow(true), LOADING_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isUnderWay]);
  return isUnderWay && isSlow;
}

/** What was read, or what is to be seen until it is there. After a failure the data before stays, and the failure above it. */
export function Loaded<T>({ children, ...read }: LoadedProps<T>) {
  const { data, error } = read.state;
  const isSlow = useIsSlow(data === undefined && error === null);
  if (data === undefined && error === null)
    return <div className={classes["loading"]}>{isSlow && <Skeleton label={STATE_TEXTS.loading} />}</div>;
  return (
    <>
      <ReadFailure {...read} />
      {data !== undefined && children(data)}
    </>
  );
}

interface ReadFailureProps {
  readonly state: ReadState<unknown>;
  /** Where nothing could be read. */
  readonly failed?: string;
  /** Above data that is there while it could not be read again. */
  readonly stale?: string;
}

interface LoadedProps<T> extends ReadFailureProps {
  readonly state: ReadState<T>;
  readonly children: (data: T) => ReactNode;
}

/** That something could not be read, or not again; nothing while it can. */
export function ReadFailure({
  state: { data, error, refetch, isFetching },
  failed = STATE_TEXTS.failed,
  stale = STATE_TEXTS.stale,
}: ReadFailureProps) {
  return (
    error !== null && (
      <Failure title={data === undefined ? failed : stale} error={error} onRetry={refetch} isRetrying={isFetching} />
    )
  );
}

interface FailureProps {
  readonly title: string;
  readonly error: { readonly code: string; readonly message: string };
  /** Absent: "Try again". */
  readonly retryLabel?: string;
  readonly onRetry?: (() => unknown) | undefined;
  readonly isRetrying?: boolean;
}

/** A failure with its code, and a button that tries again. */
export function Failure({ title, error, retryLabel = STATE_TEXTS.retry, onRetry, isRetrying = false }: FailureProps) {
  return (
    <div className={classes["failure"]} role="alert">
      <AlertTriangle size={16} aria-hidden />
      <p>
        <strong>{title}</strong> {error.message} <code>{error.code}</code>
      </p>
      {onRetry !== undefined && (
        <Button icon={<RotateCw size={14} aria-hidden />} isBusy={isRetrying} onClick={() => void onRetry()}>
          {retryLabel}
        </Button>
      )}
    </div>
  );
}

/** Nothing is there yet: what belongs here, what it is good for, and the first step as a button or link. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className={classes["empty"]}>
      <svg width="40" height="40" viewBox="0 0 40 40" aria-hidden="true">
        <rect x="4" y="8" width="32" height="7" rx="2" />
        <rect x="4" y="18" width="32" height="7" rx="2" />
        <path d="M4 31.5h20M30 27v9M25.5 31.5h9" />
      </svg>
      <h3>{title}</h3>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** A remark at the place that it is about. */
export function Notice({
  tone = "neutral",
  children,
}: {
  readonly tone?: "neutral" | "warn" | "bad" | "good";
  readonly children: ReactNode;
}) {
  return (
    <div className={classes["notice"]} data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
      <StateIcon tone={tone} size={16} />
      {children}
    </div>
  );
}

function Skeleton({ label }: { readonly label: string }) {
  return (
    <div className={classes["skeleton"]} role="status" aria-label={label}>
      <span />
      <span />
      <span />
    </div>
  );
}
