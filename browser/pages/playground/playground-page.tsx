import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useBlocker } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { readPrivate, writePrivate } from "../../data/private-storage.ts";
import { takeReplay } from "../../data/replay.ts";
import { changedSearch } from "../../data/search-params.ts";
import { SESSION_KEY, type SessionUser } from "../../data/session.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { Connection } from "./connection.tsx";
import { messagesOf } from "./conversation.ts";
import { MessageField } from "./message-field.tsx";
import { type Api, bodyFor } from "./messages-api.ts";
import { playground, type Sending } from "./playground.ts";
import classes from "./playground-page.module.css";
import { replayed } from "./replayed.ts";
import { apiOf, validatedSettings } from "./request-settings.ts";
import type { CallAs } from "./send-chat.ts";
import { SettingsPanel } from "./settings-panel.tsx";
import { TurnView } from "./turn-view.tsx";

const text = texts("playground", playgroundTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/playground");
const CodeDialog = lazy(async () => ({ default: (await import("./code-dialog.tsx")).CodeDialog }));

/** The most that the relay takes. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;

/** A conversation with one or two models, as a tenant or by a pasted key. */
export function PlaygroundPage() {
  const { model, beside, tenant_id: tenantId } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const { id: userId, role } = useCurrentUser();
  const { turns, typed, text: message, images } = useSyncExternalStore(playground.subscribe, playground.state);
  const [key, setKey] = useState(() => readPrivate(userId));
  const [wrong, setWrong] = useState<string | null>(null);
  const [isCode, setCode] = useState(false);
  useEffect(() => {
    const replay = takeReplay();
    if (replay === null) return;
    const { leftOut, ...conversation } = replayed(replay);
    playground.clear();
    playground.set(conversation);
    setWrong(leftOut.length === 0 ? null : text("replayLeftOut", { names: leftOut.join(", ") }));
  }, []);
  const { members, errors } = validatedSettings(typed);
  const api = apiOf(typed);
  const system = typed.system ?? "";
  const models = [model, beside].filter((name) => name !== undefined);
  const as = callAs(key, role, tenantId);
  const isReady = as !== null && model !== undefined;
  const isRunning = turns.at(-1)?.lanes.some((lane) => lane.at(-1)?.state === "running") === true;
  // another page of the console leaves the call running, a window that closes ends it
  useBlocker({ shouldBlockFn: () => false, enableBeforeUnload: isRunning });
  const choose = (change: Partial<ReturnType<typeof route.useSearch>>): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const sending: Omit<Sending, "as"> = {
    api,
    models,
    system,
    members,
    onRefused: ({ status }) => {
      // Of the session's end the frame must know.
      if (status === 401 || status === 403) void queries.invalidateQueries({ queryKey: SESSION_KEY });
    },
  };
  /** False: nothing was sent, and the page says why. */
  const say = (said: string, added: readonly string[], before?: number): boolean => {
    if (as === null || !isReady || (said.trim() === "" && added.length === 0)) return false;
    const bytes = added.reduce((sum, url) => sum + url.length, said.length) + bytesOf(turns, system);
    const error =
      Object.keys(errors).length > 0
        ? text("settingsWrong")
        : bytes > BODY_MAX_BYTES
          ? text("tooLarge", { size: (bytes / 1024 / 1024).toFixed(1) })
          : null;
    setWrong(error);
    if (error !== null) return false;
    playground.say({ ...sending, as }, said, added, before);
    return true;
  };
  const sendTyped = (): void => {
    if (!isRunning && say(message, images)) playground.set({ text: "", images: [] });
  };
  return (
    <Stack>
      <PageHead
        title={pageText("playground")}
        question={pageText("playgroundQuestion")}
        actions={
          <Row>
            {model !== undefined && <Button onClick={() => setCode(true)}>{text("code")}</Button>}
            {turns.length > 0 && <Button onClick={() => playground.clear()}>{text("clearAll")}</Button>}
          </Row>
        }
      />
      <Connection
        apiKey={key}
        onKey={(pasted) => {
          writePrivate(userId, pasted);
          setKey(pasted);
        }}
        model={model}
        beside={beside}
        as={as}
        tenantId={tenantId}
        onTenant={(chosen) => choose({ tenant_id: chosen })}
        onModel={(chosen) => choose({ model: chosen })}
        onBeside={(chosen) => choose({ beside: chosen })}
      />
      <div className={classes["page"]}>
        <Panel>
          {turns.length === 0 && <Begin isCaller={as !== null} hasModel={model !== undefined} />}
          {turns.map((turn, nth) => (
            <TurnView
              key={turn.id}
              turn={turn}
              isLast={nth === turns.length - 1}
              onSay={(said, added, before) => say(said, added, before)}
              onResults={(id, lane, results) =>
                as !== null && playground.giveResults({ ...sending, as }, id, lane, results)
              }
              onRetry={(id, lane) => as !== null && playground.retry({ ...sending, as }, id, lane)}
            />
          ))}
          <MessageField
            isMain
            value={message}
            images={images}
            error={wrong}
            onChange={(value) => playground.set({ text: value })}
            onImages={(change) => playground.set({ images: change(playground.state().images) })}
            onSend={sendTyped}
            actions={
              isRunning ? (
                <Button onClick={() => playground.stop()}>{text("stop")}</Button>
              ) : (
                <Button writes tone="primary" disabled={!isReady} onClick={sendTyped}>
                  {text("send")}
                </Button>
              )
            }
          />
        </Panel>
        <SettingsPanel typed={typed} onType={(changed) => playground.set({ typed: changed })} />
      </div>
      <Suspense fallback={null}>
        {isCode && model !== undefined && (
          <CodeDialog
            api={api}
            models={models}
            bodyOf={(lane) =>
              bodyOfCode({
                api,
                model: models[lane] ?? model,
                lane,
                members,
                next: { text: message, images },
                turns,
                system,
              })
            }
            onClose={() => setCode(false)}
          />
        )}
      </Suspense>
    </Stack>
  );
}

/** A pasted key first; without one an admin chooses a tenant, and a user calls as the own one. */
function callAs(key: string, role: SessionUser["role"], tenantId: string | undefined): CallAs | null {
  if (key !== "") return { key };
  if (role === "user") return "own tenant";
  return tenantId === undefined ? null : { tenantId };
}

/** What to do first. */
function Begin({ isCaller, hasModel }: { readonly isCaller: boolean; readonly hasModel: boolean }) {
  if (!isCaller) return <Empty title={text("tenantFirst")}>{text("tenantFirstText")}</Empty>;
  return hasModel ? (
    <Empty title={text("ready")}>{text("readyText")}</Empty>
  ) : (
    <Empty title={text("modelFirst")}>{text("modelFirstText")}</Empty>
  );
}

type Said = ReturnType<typeof playground.state>["turns"];

/** Of the next request, about: texts may take more in UTF-8, which the gateway then says. */
function bytesOf(turns: Said, system: string): number {
  return turns.flatMap((turn) => [turn.text, ...turn.images]).reduce((sum, part) => sum + part.length, system.length);
}

/** The request that a lane of the conversation would send next, with what is being written. */
function bodyOfCode({
  api,
  model,
  lane,
  members,
  next: { text: message, images },
  turns,
  system,
}: {
  readonly api: Api;
  readonly model: string;
  readonly lane: number;
  readonly members: Readonly<Record<string, unknown>>;
  readonly next: Pick<Said[number], "text" | "images">;
  readonly turns: Said;
  readonly system: string;
}): Readonly<Record<string, unknown>> {
  const { stream: _, ...rest } = members;
  const isWritten = message.trim() !== "" || images.length > 0;
  const next =
    !isWritten && turns.length > 0
      ? turns
      : [...turns, { id: 0, text: isWritten ? message : "Hello", images, lanes: [] }];
  return bodyFor(api, { model, messages: messagesOf(system, next, lane), ...rest });
}
