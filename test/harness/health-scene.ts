/**
 * A control service whose clock moves only when a test moves it, with an upstream that a test controls: days of health
 * checks in seconds. Only the pauses between attempts of a probe take real time.
 */

import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelHealthDetail, ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { type ControlOptions, startControl } from "./control.ts";
import { type HttpSink, type SinkAnswer, startHttpSink } from "./http-sink.ts";

const TICK_MS = 30_000;
/** Catalogs are remembered for a minute. */
const FORGOTTEN_MS = 60_000;
const NOWHERE = "http://127.0.0.1:9/v1";

export type HealthScene = Awaited<ReturnType<typeof startHealthScene>>;

/** Starts both; time begins at a fixed moment. */
export async function startHealthScene(options: ControlOptions = {}) {
  let nowMs = Date.UTC(2026, 0, 1);
  let count = 0;
  const upstream = await startHttpSink();
  const control = await startControl({
    upstreamBaseUrl: upstream.url,
    ...options,
    now: () => new Date(nowMs),
  });
  const { must: send } = control;
  const tick = async (): Promise<void> => {
    await control.prober.run();
    await control.prober.idle();
  };
  const byWord: HttpSink["answer"] = ({ url }) => {
    const word = url.replace(/\/$/, "").split("/").at(-1) ?? "";
    const answer = scene.answers[word];
    return answer === undefined ? {} : answer;
  };
  upstream.answer = byWord;
  const scene = {
    control,
    upstream,
    /**
     * The upstream's answers by the last word of the path (`completions`, `models`, ...). Null: it never answers; absent: 200
     * `{}`.
     */
    answers: {} as Readonly<Record<string, SinkAnswer | null>>,
    nowMs: (): number => nowMs,
    skip: (ms: number): void => {
      nowMs += ms;
    },
    tick,
    /** Moves the clock in steps of the worker's interval; each run ends before the next begins. */
    pass: async (ms: number, tickMs = TICK_MS): Promise<void> => {
      for (let left = ms; left > 0; left -= tickMs) {
        nowMs += Math.min(left, tickMs);
        await tick();
      }
    },
    /** A model at the upstream, checked every 900 s. */
    model: async (fields: Readonly<Record<string, unknown>> = {}): Promise<Model> => {
      count += 1;
      const model_name = `model-${count}`;
      return await send("POST", "/models", { model_name, api_base: `${upstream.url}/v1`, ...fields });
    },
    endpoint: async ({ id }: Model, name: string, apiBase = NOWHERE): Promise<ModelEndpoint> =>
      await send("POST", `/models/${id}/endpoints`, { name, api_base: apiBase }),
    summary: async ({ id }: Model): Promise<ModelHealthSummary> =>
      (await send<ModelHealthDetail>("GET", `/models/${id}/health`)).summary,
    send,
    /** The keys of the alerts that were raised about a model, in order. */
    alerts: ({ model_name }: Model): readonly string[] =>
      control.alerts
        .map(({ issueKey }) => issueKey)
        .flatMap((key) => (key.endsWith(`:${model_name}`) ? [key.split(":")[0] ?? ""] : [])),
    /** Removes every model. The upstream then answers well again and has no recorded requests. */
    clear: async (): Promise<void> => {
      await control.prober.idle();
      for (const { id } of await send<Model[]>("GET", "/models"))
        await control.request("DELETE", `/api/v1/models/${id}`);
      nowMs += FORGOTTEN_MS;
      scene.answers = {};
      upstream.answer = byWord;
      upstream.asked.length = 0;
    },
    close: async (): Promise<void> => {
      await control.close();
      await upstream.close();
    },
  };
  return scene;
}
