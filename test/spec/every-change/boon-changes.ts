/**
 * The rows of what only chats use: settings of boons and of the auto router, policies that ask a model, and the helpers of
 * boons. A row says which upstreams a chat reaches, in order, before and after an admin's change.
 */
import { randomUUID } from "node:crypto";
import type { McpServer } from "../../../shared/schema/mcp-server.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { Gateway, Minted } from "../../harness/gateway.ts";
import { jsonAnswer, type SinkAnswer, startHttpSink } from "../../harness/http-sink.ts";
import type { Write } from "./verdicts.ts";

/** A cell: a tenant whose only model has boons, and the records that help it. */
interface BoonScene {
  readonly minted: Minted;
  /** The model that describes, judges and classifies. */
  readonly helper: Model;
  readonly tools: McpServer;
  /** The address of a record: `name` is what a row shows of its calls. */
  readonly at: (name: string) => string;
}

/** A row. What a chat shows is its status and the addresses that it reached, in order. */
interface BoonChange {
  readonly name: string;
  readonly first: (scene: BoonScene) => readonly Write[];
  readonly before: string;
  readonly change: (scene: BoonScene) => Write;
  readonly after: string;
  /** The chat asks for `auto`. */
  readonly auto?: true;
}

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
/** JSON that compression makes shorter. */
const LONG_JSON = JSON.stringify(
  Array.from({ length: 40 }, (_, at) => ({ id: at, city: `City ${at}` })),
  null,
  2,
);

const user = (content: unknown) => ({ role: "user", content });

const boons = (body: object): Write => ["PUT", "/settings/boons", body];
const vision = (on: boolean) => (scene: BoonScene) =>
  boons({ vision_enabled: on, vision_fallback_model: scene.helper.model_name });
const loop = (on: boolean) => boons({ tool_loop_enabled: on });
const compression = (on: boolean) => boons({ compression_enabled: on });
const classifier =
  (on: boolean) =>
  (scene: BoonScene): Write => [
    "PUT",
    "/settings/auto-router",
    { classifier_enabled: on, classifier_model: scene.helper.model_name, classifier_timeout_ms: 5_000 },
  ];
const tenant = ({ minted }: BoonScene, part: string, policy: object | null): Write => [
  "PATCH",
  `/tenants/${minted.tenant.id}/${part}`,
  { policy },
];
const judged = (scene: BoonScene, more: object = {}): Write =>
  tenant(scene, "guardrails", { input_scanners: ["harm"], guard_model: scene.helper.model_name, ...more });
const helperAt =
  (name: string) =>
  ({ helper: { id }, at }: BoonScene): Write => [
    "PUT",
    `/models/${id}`,
    { upstream_model: "helper", api_base: `${at(name)}/v1` },
  ];
const model = ({ minted, at }: BoonScene, fields: object): Write => [
  "PUT",
  `/models/${minted.model.id}`,
  { upstream_model: "own", api_base: `${at("own")}/v1`, ...fields },
];
const server =
  (fields: (scene: BoonScene) => object) =>
  (scene: BoonScene): Write => ["PUT", `/mcp-servers/${scene.tools.id}`, fields(scene)];

/** All of it off. */
export const NOTHING_ON: readonly Write[] = [
  boons({ vision_enabled: false, tool_loop_enabled: false, compression_enabled: false }),
  ["PUT", "/settings/auto-router", { classifier_enabled: false }],
];

const OWN = "200 own";
const HELPED = "200 helper, own";
const ELSEWHERE = "200 helper-new, own";
const nothing = () => [];
const judgedFirst = (scene: BoonScene) => [judged(scene)];
const visionFirst = (scene: BoonScene) => [vision(true)(scene)];
const loopFirst = () => [loop(true)];
const compressionOff = (scene: BoonScene): Write => tenant(scene, "compression", { enabled: false });

const row = (
  name: string,
  first: BoonChange["first"],
  before: string,
  change: BoonChange["change"],
  after: string,
  more: Pick<BoonChange, "auto"> = {},
): BoonChange => ({ name, first, before, change, after, ...more });

/** In the order in which the pipeline uses what is changed. */
export const BOON_CHANGES: readonly BoonChange[] = [
  row("settings: classifier on", nothing, OWN, classifier(true), HELPED, { auto: true }),
  row("settings: classifier off", (scene) => [classifier(true)(scene)], HELPED, classifier(false), OWN, { auto: true }),
  row("tenant: guard model asked for", nothing, OWN, (scene) => judged(scene), HELPED),
  row("tenant: guardrails gone", judgedFirst, HELPED, (scene) => tenant(scene, "guardrails", null), OWN),
  row("guard model: address", judgedFirst, HELPED, helperAt("helper-new"), ELSEWHERE),
  row(
    "guard model: deleted, when the policy fails closed",
    (scene) => [judged(scene, { fail_open: false })],
    HELPED,
    ({ helper }) => ["DELETE", `/models/${helper.id}`],
    "503",
  ),
  row("settings: vision on", nothing, OWN, vision(true), HELPED),
  row("settings: vision off", visionFirst, HELPED, vision(false), OWN),
  row("model that describes: address", visionFirst, HELPED, helperAt("helper-new"), ELSEWHERE),
  row("model: boons", visionFirst, HELPED, (scene) => model(scene, { boons: [] }), OWN),
  row("settings: compression on", nothing, OWN, () => compression(true), "200 compressed, own"),
  row("tenant: compression off", () => [compression(true)], "200 compressed, own", compressionOff, OWN),
  row(
    "tenant: compression as for all",
    (scene) => [compression(true), compressionOff(scene)],
    OWN,
    (scene) => tenant(scene, "compression", null),
    "200 compressed, own",
  ),
  row("settings: tool loop on", nothing, OWN, () => loop(true), "200 tools, own"),
  row("settings: tool loop off", loopFirst, "200 tools, own", () => loop(false), OWN),
  row(
    "tool server: address",
    loopFirst,
    "200 tools, own",
    server(({ at }) => ({ upstream_url: at("tools-new") })),
    "200 tools-new, own",
  ),
  row(
    "tool server: disabled",
    loopFirst,
    "200 tools, own",
    server(() => ({ enabled: false })),
    OWN,
  ),
  row("model: tool servers", loopFirst, "200 tools, own", (scene) => model(scene, { tool_servers: [] }), OWN),
];

export type BoonStage = Awaited<ReturnType<typeof startBoonStage>>;

/** The upstreams of all cells, as one server. */
export async function startBoonStage() {
  const sink = await startHttpSink();
  sink.answer = ({ url, body }) => (url.includes("/v1/") ? completion() : toolReply(body));
  const reached = (cell: string, from: number): readonly string[] =>
    sink.asked.slice(from).flatMap(({ url }) => {
      const [, of, name = ""] = url.split("/");
      return of === cell ? [name] : [];
    });
  return {
    make: async (gateway: Gateway): Promise<BoonScene> => {
      const cell = randomUUID();
      const at = (name: string): string => `${sink.url}/${cell}/${name}`;
      const [helper, tools] = await Promise.all([
        gateway.must<Model>("POST", "/models", {
          model_name: `helper-${cell}`,
          upstream_model: "helper",
          api_base: `${at("helper")}/v1`,
          supports_vision: true,
        }),
        gateway.must<McpServer>("POST", "/mcp-servers", { name: `tools-${cell}`, upstream_url: at("tools") }),
      ]);
      const minted = await gateway.mint(`${at("own")}/v1`, "own", {
        boons: ["vision", "compression"],
        tool_servers: [tools.name],
        supports_function_calling: true,
        supports_vision: false,
        tags: ["plain"],
      });
      const allowed = { allowed_models: [minted.model.model_name] };
      await gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, allowed);
      return { minted, helper, tools, at };
    },
    /** Sends a chat; returns what it shows. */
    show: async (gateway: Gateway, { minted, at }: BoonScene, { auto }: BoonChange): Promise<string> => {
      const from = sink.asked.length;
      // another text each time: the classifier is asked for a text that it does not know
      const text = { type: "text", text: `what is this? ${randomUUID()}` };
      const longer = [user(LONG_JSON), { role: "assistant", content: "I see." }, user([text, IMAGE])];
      const messages = auto === true ? [user(text.text)] : longer;
      const model = auto === true ? "auto" : minted.model.model_name;
      const response = await gateway.chat(minted, { body: { model, messages } });
      await response.text();
      const cell = at("").split("/").at(-2) ?? "";
      const compressed = response.headers.has("x-gateway-compression") ? ["compressed"] : [];
      return `${response.status} ${[...compressed, ...new Set(reached(cell, from))].join(", ")}`.trim();
    },
    close: sink.close,
  };
}

function completion(): SinkAnswer {
  const message = { role: "assistant", content: "SAFE" };
  return jsonAnswer({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
}

function toolReply(body: string): SinkAnswer {
  const { id, method } = (body === "" ? {} : JSON.parse(body)) as { readonly id?: number; readonly method?: string };
  if (id === undefined) return { status: 202, body: "" };
  const result =
    method === "initialize"
      ? { protocolVersion: "2025-03-26", capabilities: { tools: {} }, serverInfo: { name: "tools", version: "1" } }
      : { tools: [{ name: "look", inputSchema: { type: "object" } }] };
  return jsonAnswer({ jsonrpc: "2.0", id, result });
}
