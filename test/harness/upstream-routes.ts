/**
 * An upstream that answers every route of the data plane in its own way, and records what reached it: method, headers, size
 * and SHA-256 of the body, its JSON or its form. The answers of the routes are in route-answers.ts.
 */
import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Gateway, Minted } from "./gateway.ts";
import { answerRoute, type SeenCall, type SeenFile } from "./route-answers.ts";
import { useServer } from "./use-started.ts";

type RouteUpstream = ReturnType<typeof useRouteUpstream>;

/** Registers the hooks; the upstream is there once tests run. */
export function useRouteUpstream() {
  const calls = new Map<string, SeenCall[]>();
  const origin = useServer((request, response) => {
    readCall(request).then(
      async ({ mark, call }) => {
        calls.set(mark, [...(calls.get(mark) ?? []), call]);
        await answerRoute(call, response);
      },
      () => response.destroy(),
    );
  });
  return {
    /** The base to register as api_base; requests below `/<mark>` are recorded under that mark. */
    baseOf: (mark: string): string => `${origin()}/${mark}/v1`,
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

/** Reads a call whose path begins with `/<mark>`. Rejects when it is cut off, or its body is not what its type says. */
export async function readCall(request: IncomingMessage): Promise<{ readonly mark: string; readonly call: SeenCall }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const [, mark = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? "") ?? [];
  const type = request.headers["content-type"] ?? "";
  const form = type.startsWith("multipart/form-data") ? await formOf(body, type) : { fields: {}, files: {} };
  const call = {
    method: request.method ?? "",
    path,
    headers: request.headers,
    size: body.byteLength,
    sha256: sha256(body),
    json: type.startsWith("multipart/") || body.byteLength === 0 ? null : (JSON.parse(body.toString()) as object),
    ...form,
  } as SeenCall;
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
