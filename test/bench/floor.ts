/**
 * The least cost of a gateway on this runtime: a Worker that natively forwards every request to one upstream and returns
 * its answer, and does nothing else. A second Worker first calls an object, which does nothing either: the least cost of a
 * gateway that decides its limits in one place.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Guard, jsonLine, startChild } from "../../infra/local/process/child.ts";
import { textLiteral, V8_FLAGS } from "../../infra/local/workerd/config.ts";

const { default: binary } = createRequire(import.meta.url)("workerd") as { default: string };

const KINDS = {
  bare: {
    code: `export default {
  fetch: (request, env) => fetch(env.UPSTREAM + new URL(request.url).pathname, request),
};`,
    bindings: "",
    objects: "",
  },
  "one call": {
    code: `import { DurableObject } from "cloudflare:workers";
export class Gate extends DurableObject {
  admit() { return { granted: true }; }
}
export default {
  async fetch(request, env) {
    await env.GATE.getByName("gate").admit();
    return fetch(env.UPSTREAM + new URL(request.url).pathname, request);
  },
};`,
    bindings: ', (name = "GATE", durableObjectNamespace = "Gate")',
    objects: `,
      durableObjectNamespaces = [(className = "Gate", uniqueKey = "gate")],
      durableObjectStorage = (inMemory = void)`,
  },
} as const;

/** Starts one of the two Workers before `upstream`, an origin. */
export async function startFloor(kind: keyof typeof KINDS, folder: string, upstream: string, guard: Guard) {
  const { code, bindings, objects } = KINDS[kind];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "floor.mjs"), code);
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  ${V8_FLAGS}
  services = [
    (name = "floor", worker = (
      modules = [(name = "floor.mjs", esModule = embed "floor.mjs")],
      compatibilityDate = "2026-11-17",
      bindings = [(name = "UPSTREAM", text = ${textLiteral(upstream)})${bindings}]${objects})),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "floor")],
);
`;
  writeFileSync(join(folder, "floor.capnp"), config);
  const child = await startChild(
    {
      name: "floor",
      command: binary,
      args: ["serve", join(folder, "floor.capnp"), "--control-fd=3"],
      env: {},
      readyFrom: "control",
      readReady: (line) => {
        const message = jsonLine(line);
        return message?.["event"] === "listen" ? message : undefined;
      },
      log: () => undefined,
    },
    guard,
  );
  const port = Number((await child.ready)["port"]);
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    close: async (): Promise<void> => await child.stop(1000),
  };
}
