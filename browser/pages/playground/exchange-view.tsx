import { RotateCw } from "lucide-react";
import { useState } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { explainError } from "../../explain/explain-error.ts";
import { type ExplainedRow, explainRequest } from "../../explain/explain-request.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { commonText } from "../../messages/common.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/fields.tsx";
import { Notice } from "../../ui/states.tsx";
import { type ToolCall, textBlocks } from "./answer.ts";
import type { Exchange, ExchangeFailure, ToolResult } from "./conversation.ts";
import { Figures, useRow } from "./figures.tsx";
import classes from "./playground-page.module.css";
import { Waiting } from "./waiting.tsx";

const text = texts("playground", playgroundTexts);

interface ExchangeProps {
  readonly exchange: Exchange;
  /** Calls that wait for the person's results. */
  readonly calls: readonly ToolCall[];
  readonly onResults: (results: readonly ToolResult[]) => void;
  /** Undefined: it is not the last of the conversation. */
  readonly onRetry: (() => void) | undefined;
}

/** One answer: its text, its calls of tools, why there is no more of it, and its figures. */
export function ExchangeView({ exchange, calls, onResults, onRetry }: ExchangeProps) {
  const { model, answer, state, failure } = exchange;
  const { content, reasoning, toolCalls, finishReason } = answer;
  const row = useRow(exchange);
  const isOver = state !== "running";
  return (
    <article className={classes["answer"]} aria-label={model} aria-busy={!isOver}>
      <h3>
        <bdi>{model}</bdi>
      </h3>
      {reasoning !== "" && (
        <details className={classes["reasoning"]}>
          <summary>{text("reasoning")}</summary>
          <p>{reasoning}</p>
        </details>
      )}
      <AnswerText content={content} />
      {toolCalls.map((call, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are only ever added at the end
        <div key={at} className={classes["call"]}>
          <p>{text("calls", { name: call.name })}</p>
          <pre tabIndex={0}>{call.args}</pre>
        </div>
      ))}
      {!isOver && content === "" && (
        <p className={classes["muted"]} role="status">
          <Waiting exchange={exchange} />
        </p>
      )}
      {state === "stopped" && <p className={classes["muted"]}>{text("stopped")}</p>}
      {state === "done" && content === "" && toolCalls.length === 0 && (
        <p className={classes["muted"]}>{text("emptyAnswer")}</p>
      )}
      {state === "done" && finishReason !== null && finishReason !== "stop" && toolCalls.length === 0 && (
        <p className={classes["muted"]}>{text("finish", { reason: finishReason })}</p>
      )}
      {failure !== null && <Refusal failure={failure} row={row as ExplainedRow | undefined} />}
      {calls.length > 0 && <ResultForm calls={calls} onResults={onResults} />}
      {isOver && state !== "done" && onRetry !== undefined && (
        <Button icon={<RotateCw size={14} aria-hidden />} onClick={onRetry}>
          {commonText("retry")}
        </Button>
      )}
      <Figures exchange={exchange} row={row} />
    </article>
  );
}

/** Text as text: nothing of it is markup, and fences make code. */
function AnswerText({ content }: { readonly content: string }) {
  return textBlocks(content).map(({ isCode, text: block }, at) =>
    isCode ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
      <pre key={at} tabIndex={0}>
        {block}
      </pre>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
      <p key={at} dir="auto">
        {block}
      </p>
    ),
  );
}

/** Why a request was refused or failed, and what would change that. */
function Refusal({ failure, row }: { readonly failure: ExchangeFailure; readonly row: ExplainedRow | undefined }) {
  const { role } = useCurrentUser();
  const { status, code, message } = failure;
  const known = explainError(code);
  const told = row === undefined ? null : explainRequest(row, role);
  const sentences = told?.sentences ?? (known === null ? [] : [known.why]);
  const advice = told?.advice ?? (known === null ? [] : [{ text: known.fix, link: null }]);
  // Of an upstream's own error the row knows more than its answer, which follows no table.
  const title = code === "not_understood" && told !== null ? told.title : message;
  return (
    <Notice tone={status >= 500 || status === 0 ? "bad" : "warn"}>
      <p>
        <strong>{title}</strong> <code>{status === 0 ? code : `${status} ${code}`}</code>
      </p>
      {sentences.map((one) => (
        <p key={one}>{one}</p>
      ))}
      {advice.map((one) => (
        <p key={one.text}>{one.link === null ? one.text : <TargetLink target={one.link}>{one.text}</TargetLink>}</p>
      ))}
    </Notice>
  );
}

/** What the tools have answered, typed by the person. */
function ResultForm({
  calls,
  onResults,
}: {
  readonly calls: readonly ToolCall[];
  readonly onResults: (results: readonly ToolResult[]) => void;
}) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      className={classes["results"]}
      onSubmit={(event) => {
        event.preventDefault();
        onResults(calls.map(({ id }) => ({ id, content: typed[id] ?? "" })));
      }}
    >
      {calls.map(({ id, name }) => (
        <TextArea
          key={id}
          label={text("result", { name })}
          rows={2}
          className={classes["mono"]}
          value={typed[id] ?? ""}
          onChange={(event) => setTyped({ ...typed, [id]: event.target.value })}
        />
      ))}
      <div>
        <Button type="submit">{text("sendResults")}</Button>
      </div>
    </form>
  );
}
