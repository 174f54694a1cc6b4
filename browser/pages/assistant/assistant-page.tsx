import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from "react";
import { assistantState } from "../../data/assistant.ts";
import { changedSearch } from "../../data/search-params.ts";
import { assistantTexts } from "../../messages/en/assistant.ts";
import { benchmarkTexts } from "../../messages/en/benchmark.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/fields.tsx";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Failure, Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import classes from "./assistant-page.module.css";
import { ChooseModel, TRIES } from "./choose-model.tsx";
import { type Entry, lastQuestion } from "./conversation.ts";
import { fencedParts } from "./fenced-parts.ts";
import { ProposalCard } from "./proposal-card.tsx";
import { useConversation } from "./use-conversation.ts";

const text = texts("assistant", assistantTexts);
const pageText = texts("pages", pageTexts);
const benchmarkText = texts("benchmark", benchmarkTexts);
const BenchmarkTab = lazy(async () => ({ default: (await import("./benchmark-tab.tsx")).BenchmarkTab }));
const route = getRouteApi("/signed-in/admin/assistant");
const QUESTION_MAX_CHARACTERS = 8000;

/** The assistant: a conversation with it, and benchmarks. */
export function AssistantPage() {
  const { tab, benchmark = null } = route.useSearch();
  const navigate = useNavigate({ from: "/assistant" });
  const conversation = useConversation();
  const change = (changed: { tab?: "benchmark" | undefined; benchmark?: string | undefined }): void =>
    void navigate({ search: (before) => changedSearch(before, changed) });
  return (
    <Stack>
      <PageHead
        title={pageText("assistant")}
        question={pageText("assistantQuestion")}
        actions={
          tab === undefined &&
          conversation.conversation.entries.length > 0 && <Button onClick={conversation.anew}>{text("anew")}</Button>
        }
      />
      <Tabs
        label={benchmarkText("tabs")}
        chosen={tab ?? "conversation"}
        onChoose={(id) => change({ tab: id === "benchmark" ? id : undefined, benchmark: undefined })}
        tabs={[
          { id: "conversation", label: benchmarkText("conversation"), content: <ConversationTab {...conversation} /> },
          {
            id: "benchmark",
            label: benchmarkText("benchmark"),
            content: (
              <Suspense fallback={null}>
                <BenchmarkTab chosen={benchmark} onChoose={(id) => change({ benchmark: id })} />
              </Suspense>
            ),
          },
        ]}
      />
    </Stack>
  );
}

/** Answers, what was read for them, and the changes that are proposed. */
function ConversationTab(conversation: Doing) {
  const state = useQuery(assistantState);
  const { entries } = conversation.conversation;
  return (
    <Loaded state={state}>
      {(known) => (
        <Stack>
          {!known.ready && <ChooseModel state={known} />}
          {known.ready && entries.length === 0 && (
            <Empty
              title={text("empty")}
              action={
                <Row>
                  {TRIES.map((question) => (
                    <Button key={question} onClick={() => conversation.ask(question)}>
                      {question}
                    </Button>
                  ))}
                </Row>
              }
            >
              {text("emptyText")}
            </Empty>
          )}
          <div className={classes["log"]} role="log" aria-label={pageText("assistant")}>
            {entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added at the end
              <EntryView key={index} entry={entry} {...conversation} />
            ))}
            {conversation.isAsking && (
              <p className={classes["muted"]} role="status">
                <span className={classes["dot"]} aria-hidden /> {text("thinking")}
              </p>
            )}
          </div>
          {known.ready && <Composer {...conversation} />}
        </Stack>
      )}
    </Loaded>
  );
}

type Doing = ReturnType<typeof useConversation>;

function EntryView({ entry, conversation, isAsking, ask, run, dismiss }: Doing & { readonly entry: Entry }) {
  switch (entry.kind) {
    case "question":
      return (
        <div className={classes["question"]}>
          <p className={classes["who"]}>{text("you")}</p>
          <p className={classes["said"]}>{entry.text}</p>
        </div>
      );
    case "text":
      return (
        <div>
          <p className={classes["who"]}>{text("answer")}</p>
          {fencedParts(entry.text).map(({ isCode, text: part }, at) => {
            const Part = isCode ? "pre" : "p";
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end
              <Part key={at} className={classes[isCode ? "code" : "said"]} tabIndex={isCode ? 0 : undefined}>
                {part}
              </Part>
            );
          })}
        </div>
      );
    case "call":
      return <CallView entry={entry} />;
    case "proposal":
      return <ProposalCard entry={entry} onRun={() => run(entry.proposal)} onDismiss={() => dismiss(entry.proposal)} />;
    case "stopped":
      return <Notice>{text(`stopped_${entry.why}`)}</Notice>;
    case "failed":
      return (
        <Failure
          title={text("failed")}
          error={entry}
          retryLabel={text("again")}
          isRetrying={isAsking}
          onRetry={() => {
            const question = lastQuestion(conversation);
            if (question !== null) ask(question);
          }}
        />
      );
  }
}

function CallView({ entry: { title, method, path, result } }: { readonly entry: Extract<Entry, { kind: "call" }> }) {
  const how = result === null ? "reading" : result.ok ? "read" : "notRead";
  return (
    <details className={classes["call"]}>
      <summary>{text(how, { title })}</summary>
      <code className={classes["address"]}>
        {method} {path}
      </code>
      {result !== null && <pre tabIndex={0}>{indented(result.text)}</pre>}
    </details>
  );
}

function Composer({ ask, stop, isAsking }: Doing) {
  const { q } = route.useSearch();
  const [question, setQuestion] = useState(q ?? "");
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isAsking) end.current?.scrollIntoView({ block: "nearest" });
  }, [isAsking]);
  const sendIt = (): void => {
    if (question.trim() === "" || isAsking) return;
    ask(question.trim());
    setQuestion("");
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    sendIt();
  };
  return (
    <div className={classes["composer"]} ref={end}>
      <TextArea
        label={text("question")}
        rows={2}
        maxLength={QUESTION_MAX_CHARACTERS}
        value={question}
        onChange={(event) => setQuestion(event.target.value)}
        onKeyDown={onKeyDown}
        data-page-filter
      />
      <Row isEnd>
        <span className={classes["hint"]}>{text("questionHint")}</span>
        {isAsking && <Button onClick={stop}>{text("stop")}</Button>}
        <Button tone="primary" disabled={question.trim() === "" || isAsking} onClick={sendIt}>
          {text("ask")}
        </Button>
      </Row>
    </div>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
