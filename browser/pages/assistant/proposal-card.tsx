import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { AssistantProposal } from "../../../shared/wire/assistant.ts";
import { commonText } from "../../messages/common.ts";
import { assistantTexts } from "../../messages/en/assistant.ts";
import { benchmarkTexts } from "../../messages/en/benchmark.ts";
import { texts } from "../../messages/texts.ts";
import { formatTimeOfDay, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/copy.tsx";
import { formatText } from "../../ui/format.ts";
import { Row } from "../../ui/layout.tsx";
import { Failure, Notice } from "../../ui/states.tsx";
import classes from "./assistant-page.module.css";
import { differences, type Entry } from "./conversation.ts";

const text = texts("assistant", assistantTexts);
const benchmarkText = texts("benchmark", benchmarkTexts);

/** A change that the assistant proposes: what it would do, the exact call, and the two buttons that decide. */
export function ProposalCard({
  entry: { proposal, state },
  onRun,
  onDismiss,
}: {
  readonly entry: Extract<Entry, { kind: "proposal" }>;
  readonly onRun: () => void;
  readonly onDismiss: () => void;
}) {
  const { method, path, body, summary, object, object_id, parent, parent_id, changes, isFinal, expires_at } = proposal;
  const isOpen = state.is === "open" || state.is === "outdated" || state.is === "running";
  return (
    <section className={classes["card"]} data-open={isOpen || undefined} aria-label={text("proposal")}>
      <p className={classes["who"]}>{text("proposal")}</p>
      <h2>{summary}</h2>
      <About label={text("object")} name={object} id={object_id} />
      <About label={text("parent")} name={parent} id={parent_id} />
      <code className={classes["address"]}>
        {method} {path}
      </code>
      {changes.length > 0 && (
        <div className={classes["changes"]}>
          <table>
            <thead>
              <tr>
                <th>{text("field")}</th>
                <th>{text("before")}</th>
                <th>{text("after")}</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ field, from, from_name, to, to_name, isDefault, follows }) => (
                <tr key={field}>
                  <td>
                    {field}
                    {isDefault && <span className={classes["muted"]}> {text("isDefault")}</span>}
                    {follows && <span className={classes["muted"]}> {text("follows")}</span>}
                  </td>
                  <td>
                    {formatText(from)}
                    {from_name !== null && <strong> {from_name}</strong>}
                  </td>
                  <td>
                    {to}
                    {to_name !== null && <strong> {to_name}</strong>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {body !== null && (
        <details>
          <summary>{text("exact")}</summary>
          <Code text={`${method} ${path}\n\n${body}`} label={text("copy")} doneLabel={text("copied")} />
        </details>
      )}
      {isOpen && (
        <>
          {state.is === "outdated" && <Outdated shown={state.shown} now={proposal} />}
          {isFinal && <Notice tone="warn">{text("final")}</Notice>}
          <Decision expiresAt={expires_at} isBusy={state.is === "running"} {...{ isFinal, onRun, onDismiss }} />
        </>
      )}
      <Outcome state={state} />
      {state.is === "answered" && state.run.status === 200 && path === "/api/v1/benchmarks" && (
        <Link to="/assistant" search={{ tab: "benchmark" }}>
          {benchmarkText("see")}
        </Link>
      )}
    </section>
  );
}

/** What a call is about. Names are JSON texts, so that none of them can go on as a label of the card. */
function About({
  label,
  name,
  id,
}: {
  readonly label: string;
  readonly name: string | null;
  readonly id: string | null;
}) {
  if (name === null && id === null) return null;
  return (
    <p className={classes["about"]}>
      {label} {name !== null && <strong>{name}</strong>} {id !== null && <code>{id}</code>}
    </p>
  );
}

/** That something has changed since a proposal was shown, and what. */
function Outdated({ shown, now }: { readonly shown: AssistantProposal; readonly now: AssistantProposal }) {
  const all = differences(shown, now);
  return (
    <Notice tone="warn">
      {text("outdated")}
      {all.length === 0 ? (
        <p>{text("outdatedUnseen")}</p>
      ) : (
        <ul className={classes["differences"]}>
          {all.map(({ what, was, now: is }) => (
            <li key={what.is === "field" ? what.field : what.is}>
              {what.is === "field" ? <code>{what.field}</code> : text(what.is)} <code>{formatText(was)}</code> →{" "}
              <code>{formatText(is)}</code>
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

function Decision({
  expiresAt,
  isFinal,
  isBusy,
  onRun,
  onDismiss,
}: {
  readonly expiresAt: string;
  readonly isFinal: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
  readonly onDismiss: () => void;
}) {
  const { zone } = useZone();
  const until = instantOf(expiresAt);
  return (
    <Row>
      <Button tone={isFinal ? "danger" : "primary"} isBusy={isBusy} onClick={onRun}>
        {text("run")}
      </Button>
      <Button disabled={isBusy} onClick={onDismiss}>
        {text("dismiss")}
      </Button>
      {until !== null && (
        <span className={classes["muted"]}>
          {text("until", { time: formatTimeOfDay(zone, until, "minute"), zone })}
        </span>
      )}
    </Row>
  );
}

function Outcome({ state }: { readonly state: Extract<Entry, { kind: "proposal" }>["state"] }) {
  const [isShown, setShown] = useState(false);
  if (state.is === "dismissed") return <Notice>{text("dismissed")}</Notice>;
  if (state.is === "unknown")
    return (
      <Notice tone="warn">
        {text("unknownOutcome")} <Link to="/audit">{text("openAudit")}</Link>
      </Notice>
    );
  if (state.is === "failed") return <Failure title={text("notRun")} error={state.error} />;
  if (state.is !== "answered") return null;
  const { status, answer, pending } = state.run;
  const isDone = status >= 200 && status < 300;
  return (
    <>
      <Notice tone={isDone ? "good" : "bad"}>
        {text(isDone ? "done" : status < 500 ? "refused" : "doubtful", { status })} {pending && commonText("pending")}
      </Notice>
      {answer !== "" && (
        <details open={isShown || !isDone} onToggle={(event) => setShown(event.currentTarget.open)}>
          <summary>{text("shownAnswer")}</summary>
          <Code text={answer} label={text("copy")} doneLabel={text("copied")} />
        </details>
      )}
    </>
  );
}
