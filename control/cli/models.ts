/**
 * `gateway models`
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findModel, page, toNumber, toNumberOrNone } from "./arguments.ts";
import { autotuneCommand } from "./autotune.ts";
import { type FieldOptions, fieldsOf, withFields } from "./field-options.ts";
import { modelHealthCommands } from "./model-health.ts";
import { CliError, type Session, sessionOf } from "./session.ts";

const FIELD_OPTIONS = {
  api_base: ["--base <url>", "the upstream's base URL, ending in /v1", String],
  upstream_model: ["--upstream <name>", "the model's name at the upstream, if it is different", String],
  api_key: ["--key <secret>", "the upstream's API key", String],
  model_type: [
    "--type <type>",
    "chat, embedding, image, audio_speech or audio_transcription",
    (text) => text as Schemas["Model"]["model_type"],
  ],
  api_dialect: [
    "--dialect <dialect>",
    "API of the upstream: openai or anthropic",
    (text) => text as Schemas["Model"]["api_dialect"],
  ],
  responses_api: [
    "--responses <who>",
    "who answers the Responses API: native (the upstream) or translated (to chat completions)",
    (text) => text as Schemas["Model"]["responses_api"],
  ],
  auth_scheme: [
    "--auth <scheme>",
    "how the API key is sent: bearer, x-api-key, api-key or none",
    (text) => text as Schemas["Model"]["auth_scheme"],
  ],
  input_cost_per_token: ["--input-cost <usd>", "USD per input token", toNumber],
  output_cost_per_token: ["--output-cost <usd>", "USD per output token", toNumber],
  cached_input_cost_per_token: [
    "--cached-input-cost <usd>",
    "USD per cached input token; `none`: same as other input tokens",
    toNumberOrNone,
  ],
  reasoning_output_cost_per_token: [
    "--reasoning-output-cost <usd>",
    "USD per reasoning output token; `none`: same as other output tokens",
    toNumberOrNone,
  ],
  cache_write_cost_per_token: [
    "--cache-write-cost <usd>",
    "USD per input token put into a cache, or `none`",
    toNumberOrNone,
  ],
  audio_input_cost_per_token: [
    "--audio-input-cost <usd>",
    "USD per audio token of the input, or `none`",
    toNumberOrNone,
  ],
  audio_output_cost_per_token: [
    "--audio-output-cost <usd>",
    "USD per audio token of the output, or `none`",
    toNumberOrNone,
  ],
  image_input_cost_per_token: [
    "--image-input-cost <usd>",
    "USD per image token of the input, or `none`",
    toNumberOrNone,
  ],
  image_output_cost_per_token: [
    "--image-output-cost <usd>",
    "USD per image token of the output, or `none`",
    toNumberOrNone,
  ],
  input_cost_per_second: ["--second-cost <usd>", "USD per second of transcribed audio", toNumber],
  capacity_mode: [
    "--capacity-mode <mode>",
    "static, tuned or adaptive: moved by what the upstream shows",
    (text) => text as Schemas["Model"]["capacity_mode"],
  ],
  adaptive_min: ["--adaptive-min <count>", "smallest capacity in the mode adaptive", toNumber],
  adaptive_max: ["--adaptive-max <count>", "largest capacity in the mode adaptive", toNumber],
  context_window: ["--context-window <tokens>", "tokens, 0 for unknown", toNumber],
} as const satisfies FieldOptions;

export function modelCommands(program: Command): void {
  const models = program.command("models").description("what clients may ask for, and the upstream behind it");
  models
    .command("list")
    .description("list models")
    .option("--search <text>", "a part of the name, here or at its upstream")
    .action(async (options: { search?: string }, command: Command) => {
      const session = sessionOf(command);
      const filter = options.search === undefined ? {} : { q: options.search };
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/models", { params: { query: { ...page(cursor), ...filter } } }),
      );
      session.list(rows, [
        "model_name",
        "model_type",
        "enabled",
        "health_status",
        "upstream_model",
        "api_base",
        "max_in_flight",
        "id",
      ]);
    });
  models
    .command("show <model>")
    .description("show a model, by name or id")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      session.record(await findModel(session, model));
    });
  withFields(models.command("create <name>"), FIELD_OPTIONS)
    .description("register a model")
    .option(
      "--prices-from-list",
      "take the prices of its upstream name from the price list; single price options override them",
    )
    .action(async (name: string, options: { readonly pricesFromList?: true }, command: Command) => {
      const session = sessionOf(command);
      const fields = fieldsOf(FIELD_OPTIONS, options);
      const listed = options.pricesFromList ? await listedPrices(session, fields.upstream_model ?? name) : {};
      const body = { model_name: name, ...listed, ...fields };
      session.record(await session.bodyOf(session.client.POST("/api/v1/models", { body })));
    });
  models
    .command("prices [model]")
    .description("list public prices of known models, or of one, by its name at its provider")
    .action(async (model: string | undefined, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { list } = await pricesOf(session, model);
      const rows = list.map(({ models: names, prices, ...rest }) => ({ ...rest, ...prices, model: names.join(", ") }));
      session.list(rows, ["model", "input_cost_per_token", "output_cost_per_token", "as_of", "source", "note"]);
    });
  withFields(models.command("set <model>"), FIELD_OPTIONS)
    .description("change a model; omitted options keep their values")
    .action(async (model: string, options: object, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findModel(session, model);
      const body = fieldsOf(FIELD_OPTIONS, options);
      session.record(
        await session.bodyOf(session.client.PATCH("/api/v1/models/{id}", { params: { path: { id } }, body })),
      );
    });
  for (const [word, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    models
      .command(`${word} <model>`)
      .description(`${word} a model`)
      .action(async (model: string, _options: object, command: Command) => {
        const session = sessionOf(command);
        const { id } = await findModel(session, model);
        const body = { enabled };
        session.record(
          await session.bodyOf(session.client.PATCH("/api/v1/models/{id}", { params: { path: { id } }, body })),
        );
      });
  }
  models
    .command("capacity <model>")
    .description("show the capacity of a model, and why it changed in the mode adaptive")
    .option("--cell <name>", "the cell, by default the first one")
    .action(async (model: string, { cell }: { cell?: string }, command: Command) => {
      const session = sessionOf(command);
      const { model_name, capacity_mode, max_in_flight } = await findModel(session, model);
      const query = cell === undefined ? {} : { cell };
      const live = await session.bodyOf(session.client.GET("/api/v1/fairshare/live", { params: { query } }));
      const known = live.adaptive.find((one) => one.model === model_name);
      const { capacity = max_in_flight, min = null, max = null, changes = [] } = known ?? {};
      const now = { model: model_name, cell: live.cell, capacity_mode, capacity, min, max };
      const rows = changes.map(({ ts_ms, ...change }) => ({ at: new Date(ts_ms).toISOString(), ...change }));
      session.listIn({ ...now, changes }, rows, ["at", "from", "to", "reason"]);
      session.say(`capacity now: ${capacity ?? "no limit of its own"} (${capacity_mode})`);
    });
  autotuneCommand(models);
  modelHealthCommands(models);
  models
    .command("delete <model>")
    .description("remove a model")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id, model_name } = await findModel(session, model);
      await session.bodyOf(session.client.DELETE("/api/v1/models/{id}", { params: { path: { id } } }));
      session.say(`model '${model_name}' is removed`);
    });
}

async function pricesOf(session: Session, model?: string): Promise<Schemas["PriceList"]> {
  const query = model === undefined ? {} : { model };
  return await session.bodyOf(session.client.GET("/api/v1/prices", { params: { query } }));
}

/** The listed prices of a model. Throws CliError. */
async function listedPrices(session: Session, model: string): Promise<Schemas["PriceList"]["list"][number]["prices"]> {
  const [found] = (await pricesOf(session, model)).list;
  if (found === undefined)
    throw new CliError(
      `the price list has no '${model}': set --upstream, or set its prices with options such as --input-cost`,
    );
  return found.prices;
}
