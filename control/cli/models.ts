/**
 * `gateway models`
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findModel, page, toNumber, toNumberOrNone } from "./arguments.ts";
import { autotuneCommand } from "./autotune.ts";
import { modelHealthCommands } from "./model-health.ts";
import { sessionOf } from "./session.ts";

interface ModelOptions {
  readonly base?: string;
  readonly upstream?: string;
  readonly key?: string;
  readonly type?: Schemas["Model"]["model_type"];
  readonly inputCost?: number;
  readonly outputCost?: number;
  readonly cachedInputCost?: number | null;
  readonly reasoningOutputCost?: number | null;
  readonly secondCost?: number;
  readonly contextWindow?: number;
  readonly disabled?: boolean;
}

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
  withFields(models.command("create <name>").description("register a model")).action(
    async (name: string, options: ModelOptions, command: Command) => {
      const session = sessionOf(command);
      const body = { model_name: name, ...fieldsOf(options) };
      session.record(await session.bodyOf(session.client.POST("/api/v1/models", { body })));
    },
  );
  withFields(models.command("set <model>").description("change a model; an omitted option stays")).action(
    async (model: string, options: ModelOptions, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findModel(session, model);
      const body = fieldsOf(options);
      session.record(
        await session.bodyOf(session.client.PATCH("/api/v1/models/{id}", { params: { path: { id } }, body })),
      );
    },
  );
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

function withFields(command: Command): Command {
  return command
    .option("--base <url>", "the upstream's base URL, ending in /v1")
    .option("--upstream <name>", "the model's name at the upstream, if it is different")
    .option("--key <secret>", "the upstream's API key")
    .option("--type <type>", "chat, embedding, image, audio_speech or audio_transcription")
    .option("--input-cost <usd>", "USD per input token", toNumber)
    .option("--output-cost <usd>", "USD per output token", toNumber)
    .option("--cached-input-cost <usd>", "USD per cached input token; `none`: as other input tokens", toNumberOrNone)
    .option(
      "--reasoning-output-cost <usd>",
      "USD per reasoning output token; `none`: as other output tokens",
      toNumberOrNone,
    )
    .option("--second-cost <usd>", "USD per second of transcribed audio", toNumber)
    .option("--context-window <tokens>", "tokens, 0 for unknown", toNumber);
}

function fieldsOf(options: ModelOptions): Omit<Schemas["CreateModel"], "model_name"> {
  const { base, upstream, key, type, inputCost, outputCost, contextWindow } = options;
  const { cachedInputCost, reasoningOutputCost, secondCost } = options;
  return {
    ...(base === undefined ? {} : { api_base: base }),
    ...(upstream === undefined ? {} : { upstream_model: upstream }),
    ...(key === undefined ? {} : { api_key: key }),
    ...(type === undefined ? {} : { model_type: type }),
    ...(inputCost === undefined ? {} : { input_cost_per_token: inputCost }),
    ...(outputCost === undefined ? {} : { output_cost_per_token: outputCost }),
    ...(cachedInputCost === undefined ? {} : { cached_input_cost_per_token: cachedInputCost }),
    ...(reasoningOutputCost === undefined ? {} : { reasoning_output_cost_per_token: reasoningOutputCost }),
    ...(secondCost === undefined ? {} : { input_cost_per_second: secondCost }),
    ...(contextWindow === undefined ? {} : { context_window: contextWindow }),
  };
}
