/**
 * Upstreams for tests of the pipeline, by host name: what each answers to its first call, its second, and so on.
 */

import type { UpstreamCall } from "../../../../edge/ports.ts";
import type { ResolvedEndpoint } from "../../../../shared/records.ts";
import { modelOf } from "./records.ts";
import { TestPipeline } from "./world.ts";

export function endpoint(name: string, changes: Partial<ResolvedEndpoint> = {}): ResolvedEndpoint {
  return {
    id: `id-${name}`,
    name,
    api_base: `http://${name}.test/v1`,
    api_key: null,
    auth_scheme: null,
    priority: 100,
    weight: 100,
    enabled: true,
    health_status: "healthy",
    ...changes,
  };
}

export type Answer = (call: UpstreamCall) => Promise<Response>;

/** Answers by host; each list is used up from its front, its last entry stays. */
export type Script = Readonly<Record<string, readonly Answer[]>>;

/** Answers with a status, and a body that says so. */
export const status =
  (code: number, headers: Record<string, string> = {}) =>
  async () =>
    new Response(code === 204 ? null : `body of ${code}`, { status: code, headers });
export const refuses = async (): Promise<Response> => await Promise.reject(new TypeError("refused"));
/**
 * A body of bytes, as in the runtime. `next` gives a piece at each call, null at the end; what it throws breaks the
 * body off.
 */
export function bodyOf(next: () => Uint8Array<ArrayBuffer> | null, cancel = (): void => undefined): ReadableStream {
  return new ReadableStream(
    {
      type: "bytes",
      pull: (controller) => {
        const piece = next();
        if (piece !== null) return controller.enqueue(piece);
        controller.close();
        controller.byobRequest?.respond(0);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
/** Does not answer until it is aborted. */
export const hangs = async ({ signal }: UpstreamCall): Promise<Response> =>
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

/** A pipeline whose model has an endpoint for every host of the script, in this order. */
export function worldOf(script: Script, model: Parameters<typeof modelOf>[0] = {}): TestPipeline {
  const world = new TestPipeline();
  const endpoints = Object.keys(script).map((name) => endpoint(name));
  world.model = modelOf({ endpoints, max_retries: 0, retry_backoff_ms: 200, ...model });
  const made = new Map<string, number>();
  world.upstream = async (call) => {
    const name = hostOf(call);
    const nth = made.get(name) ?? 0;
    made.set(name, nth + 1);
    return await nthAnswer(name, script[name], nth)(call);
  };
  return world;
}

export const hostOf = ({ url }: UpstreamCall): string => new URL(url).hostname.replace(".test", "");

/** The nth answer of a host; the last one stays. */
export function nthAnswer(name: string, answers: readonly Answer[] = [], nth: number): Answer {
  const answer = answers[nth] ?? answers.at(-1);
  if (answer === undefined) throw new Error(`${name} was not expected`);
  return answer;
}

export const hosts = (world: TestPipeline): readonly string[] => world.upstreamCalls.map(hostOf);
