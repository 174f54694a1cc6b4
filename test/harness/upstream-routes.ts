/**
 * An upstream that answers every route of the data plane in its own way, and records what reached it: method, headers, size
 * and SHA-256 of the body, its JSON or its form. The answers of the routes are in route-answers.ts.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Gateway, Minted } from "./gateway.ts";
import { type SinkRequest, startHttpSink } from "./http-sink.ts";
import { answerRoute, type SeenCall, type SeenFile } from "./route-answers.ts";
import { useStarted } from "./use-started.ts";

type RouteUpstream = ReturnType<typeof useRouteUpstream>;

/** Registers the hooks; the upstream is there once tests run. */
export function useRouteUpstream() {
  const calls = new Map<string, SeenCall[]>();
  const sink = useStarted(
    async () =>
      await startHttpSink(async (asked) => {
        const { mark, call } = await readCall(asked);
        calls.set(mark, [...(calls.get(mark) ?? []), call]);
        return async (response) => await answerRoute(call, response);
      }),
  );
  return {
    /** The base to register as api_base; requests below `/<mark>` are recorded under that mark. */
    baseOf: (mark: string): string => `${sink().url}/${mark}/v1`,
    seen: (mark: string): readonly SeenCall[] => calls.get(mark) ?? [],
  };
}

/** A tenant whose model sends every route there; a test finds its calls by the `mark` of the result. */
export async function mintAt(
  gateway: Gateway,
  upstream: RouteUpstream,
  model: Readonly<Record<string, unknown>> = {},
): Promise<Minted> {
  const mark = randomUUID();
  return { ...(await gateway.mint(upstream.baseOf(mark), "upstream-name", model)), mark };
}

/** A call whose path begins with `/<mark>`. Rejects when its body is not what its type says. */
export async function readCall({ method, url, headers, bytes, body }: SinkRequest) {
  const [, mark = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(url) ?? [];
  const type = headers["content-type"] ?? "";
  const form = type.startsWith("multipart/form-data") ? await formOf(bytes, type) : { fields: {}, files: {} };
  const json = type.startsWith("multipart/") || body === "" ? null : (JSON.parse(body) as SeenCall["json"]);
  const call: SeenCall = { method, path, headers, size: bytes.byteLength, sha256: sha256(bytes), json, ...form };
  return { mark, call };
}

async function formOf(body: Buffer<ArrayBuffer>, type: string): Promise<Pick<SeenCall, "fields" | "files">> {
  const fields: Record<string, string> = {};
  const files: Record<string, SeenFile> = {};
  const form = await new Response(body, { headers: { "content-type": type } }).formData();
  for (const [name, value] of form.entries()) {
    if (typeof value === "string") fields[name] = value;
    else
      files[name] = {
        name: value.name,
        type: value.type,
        size: value.size,
        sha256: sha256(new Uint8Array(await value.arrayBuffer())),
      };
  }
  return { fields, files };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
