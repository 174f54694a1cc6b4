import { type ReactNode, useState } from "react";
import { ApiError } from "../data/api-error.ts";
import { Button } from "../ui/button.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { Notice } from "../ui/states.tsx";

interface TrialProps<T> {
  readonly label: string;
  /** What is tried, and with which values. */
  readonly note?: string;
  readonly isDisabled?: boolean;
  /** Throws ApiError for what the server refuses. */
  readonly run: () => Promise<T>;
  /** What came of it, in words. */
  readonly children: (result: T) => ReactNode;
}

/** A button that tries something out, and says below it what came of it. */
export function Trial<T>({ label, note, isDisabled = false, run, children }: TrialProps<T>) {
  const [outcome, setOutcome] = useState<{ readonly result: T } | ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const start = async (): Promise<void> => {
    setBusy(true);
    try {
      setOutcome({ result: await run() });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setOutcome(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      {note !== undefined && <p>{note}</p>}
      <Row>
        <Button writes isBusy={isBusy} disabled={isDisabled} onClick={() => void start()}>
          {label}
        </Button>
      </Row>
      {outcome instanceof ApiError ? (
        <Notice tone="bad">
          {outcome.message} <code>{outcome.code}</code>
        </Notice>
      ) : (
        outcome !== null && children(outcome.result)
      )}
    </Stack>
  );
}
