/** Fields with which a client reaches past its model (docs/rules/routes.md#fields-that-steer). */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { formSteeringFault, queryFault, steeringFault, steeringWithin } from "./steering-fields.ts";

const NONE: ReadonlySet<string> = new Set();
const isRefused = (name: string, allowed = NONE) => steeringFault(name, allowed) !== null;
const isRefusedInForm = (name: string, allowed = NONE) => formSteeringFault(name, allowed) !== null;

const STEERING = [
  ["OpenRouter", ["models", "route", "provider", "preset", "plugins"]],
  ["LiteLLM", ["fallbacks", "context_window_fallbacks", "model_list", "user_config", "custom_llm_provider"]],
  ["LiteLLM, of servers and accounts", ["api_base", "base_url", "api_key", "extra_headers", "aws_sts_endpoint"]],
  ["vLLM", ["lora_request", "kv_transfer_params", "ec_transfer_params", "remote_host"]],
  ["SGLang", ["lora_path", "bootstrap_host", "bootstrap_room", "disagg_prefill_dp_rank", "session_params"]],
  ["TGI and LoRAX", ["adapter_id", "adapter_source", "api_token", "merged_adapters"]],
  ["llama.cpp", ["lora", "speculative.n_max"]],
  ["Azure and old clients", ["engine", "deployment_id", "data_sources", "dataSources"]],
  [
    "LiteLLM, of its router",
    ["router_settings_override", "target_model_names", "use_litellm_proxy", "openai_api_base"],
  ],
  [
    "LiteLLM, of prices and its log",
    ["input_cost_per_token", "base_model", "mock_response", "langfuse_host", "callbacks"],
  ],
  ["Dynamo", ["nvext.backend_instance_id", "nvext.decode_worker_id", "nvext.agent_hints.priority", "routing"]],
  ["ranks and queues", ["routed_dp_rank", "data_parallel_rank", "priority"]],
  ["code", ["custom_logit_processor", "logits_processors", "vllm_xargs.logits_processors"]],
  ["plain words", ["providers", "gateway", "deployment", "project", "region_name", "default_headers"]],
  ["IBM and llama.cpp", ["space_id", "wx_credentials", "id_slot", "slot_id"]],
  ["LiteLLM's router", ["specific_deployment", "allowed_model_region", "tags", "extra_body.tags"]],
  ["prompts that are no text", ["prompt_embeds", "prompt_token_ids", "inputEmbeds", "nvext.token_data"]],
  ["LocalAI", ["backend", "model_base_name"]],
  ["others", ["providerOptions", "compound_custom", "image_loras", "draft_model", "speculative_config"]],
] as const;

/** Every field of the requests of OpenAI's and Anthropic's API, and common ones of model servers. */
const HONEST =
  "model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options background context_management conversation include input instructions max_output_tokens max_tool_calls previous_response_id prompt reasoning text truncation best_of echo suffix dimensions encoding_format voice speed stream_format instructions language timestamp_granularities[] chunking_strategy known_speaker_names[] image image[] mask quality size style output_format system thinking stop_sequences top_k output_config inference_geo container mcp_servers cache_control query documents top_n return_documents chat_template chat_template_kwargs guided_json structured_outputs decoder_input_details nvext request_id session_id min_p repetition_penalty mm_processor_kwargs regex ebnf inputs parameters options sampling_params extra_body vllm_xargs keep_alive".split(
    " ",
  );

describe("a field that steers its upstream", () => {
  it.each(STEERING)("is refused by its name: %s", (_, fields) => {
    expect(fields.filter((field) => !isRefused(field))).toEqual([]);
  });

  it("is not one of an API's own fields", () => {
    expect(HONEST.filter((field) => isRefused(field))).toEqual([]);
  });

  it("is refused in every spelling that some server takes for it", () => {
    const spellings = ["Models", "MODELS", "model_s", "models\0", "models\0x", "model\u017f", "LoraPath", "api-key"];
    spellings.push("models ", " models", "lora path", "models[0]", "extra_body[models]", "extra_body.models");
    expect(spellings.filter((name) => !isRefused(name))).toEqual([]);
  });

  it("is refused in a field whose own fields count like those of the body", () => {
    const refused = [
      "extra_body.models",
      "extraBody.lora_path",
      "extra_body.extra_body.api_base",
      "parameters.adapter_id",
      "extra_body[0][models]",
      "sampling_params.0.1.lora_path",
      "extra_args.priority",
      "extraArgs.kv_transfer_params",
      "model_kwargs.lora_path",
      "additional_params.api_base",
      "generationConfig.routingConfig",
      "[models]",
    ];
    const free = [
      "metadata.models",
      "tools.api_key",
      "extra_body.google",
      "options.num_ctx",
      "nvext.cache_salt",
      "nvext.annotations",
      "nvext.ignore_eos",
      "chat_template_kwargs.models",
      "stream_options.models",
      "web_search_options.provider",
      "parameters.n",
      "0",
    ];
    expect({
      passed: refused.filter((path) => !isRefusedInForm(path)),
      stopped: free.filter((path) => isRefusedInForm(path)),
    }).toEqual({ passed: [], stopped: [] });
  });

  it("is also one of the body's own, in the field that replaces those", () => {
    expect(formSteeringFault("extra_body.model", NONE)).toEqual({
      param: "extra_body.model",
      message: "field 'extra_body.model' can replace a field of the body; leave it out",
    });
    const names = ["n", "max_tokens", "stream", "store", "input", "messages", "Messages ", "prompt", "tools", "system"];
    expect(names.filter((name) => !isRefusedInForm(`extra_body.${name}`))).toEqual([]);
  });

  it("passes if the operator allows it, alone and in another one", () => {
    const allowed = new Set(["models", "lorapath", "options"]);
    const paths = ["models", "Models", "extra_body.models", "loraPath", "options", "options[]", "extra_body[options]"];
    const stopped = ["lora", "extra_body.model", "parameters", "options.lora", "options[parameters]"];
    expect([...paths, ...stopped].filter((path) => isRefusedInForm(path, allowed))).toEqual(stopped);
  });

  it("is refused in a form under every name of its parts, with the fields that have own ones", () => {
    const names = ["models", "models[]", "models[0]", "extra_body[models]", "extra_body", "options[0][parameters]"];
    expect(
      [...names, "metadata[models]", "file"].map((name) => [name, formSteeringFault(name, NONE)?.message ?? null]),
    ).toEqual([
      ["models", "field 'models' can choose another model; leave it out"],
      ["models[]", "field 'models[]' can choose another model; leave it out"],
      ["models[0]", "field 'models[0]' can choose another model; leave it out"],
      ["extra_body[models]", "field 'extra_body[models]' can choose another model; leave it out"],
      ["extra_body", "field 'extra_body' can have fields of its own; leave it out"],
      ["options[0][parameters]", "field 'options[0][parameters]' can have fields of its own; leave it out"],
      ["metadata[models]", null],
      ["file", null],
    ]);
  });

  it("is refused in a query, also the model itself", () => {
    const messageOf = (search: string) => queryFault(search, NONE)?.message ?? null;
    const paramsOf = ["?x=1;models=a", "?+model=x", "?x=1;+model%20=a", "?x=;"].map((search) =>
      queryFault(search, NONE),
    );
    expect(paramsOf.map((fault) => fault?.param ?? null)).toEqual(["models", " model", " model ", null]);
    expect([messageOf("?api-version=1&a=b"), messageOf("?model=x"), messageOf("?a=b&api%5Fbase=x")]).toEqual([
      null,
      "query parameter 'model' can replace a field of the body; leave it out",
      "query parameter 'api_base' can choose another server or account; leave it out",
    ]);
  });

  it("is refused in a query as in a form", () => {
    const refused = [
      "extra_body[models]=x",
      "extra_body.models=x",
      'extra_body={"models":1}',
      "options[0]=x",
      "model[]=x",
    ];
    const free = ["metadata[models]=x", "=x", "0=x", "a.model=x", ""];
    const isFault = (search: string) => queryFault(`?${search}`, NONE) !== null;
    expect({
      passed: refused.filter((search) => !isFault(search)),
      stopped: free.filter((search) => isFault(search)),
    }).toEqual({ passed: [], stopped: [] });
    expect(queryFault("?options[num_ctx]=1&options=x", new Set(["options"]))).toBeNull();
  });
});

describe("the fields within another one", () => {
  const within = (value: string, allowed = NONE) =>
    atOnce(steeringWithin("extra_body", new TextEncoder().encode(value), (name) => name, allowed))?.param ?? null;

  it("are found at every depth of such fields, with escapes and twice, and nowhere else", () => {
    const found = [
      '{"a":1,"mod\\u0065ls":["x"]}',
      '{"google":{"models":1},"parameters":{"adapter_id":"x"}}',
      '{"models":null,"models":["x"]}',
      '{"extra_body":{"extra_body":{"model":"x"}}}',
      '{"stop":[{"api_key":1}],"metadata":{"models":1},"text":"models"}',
      '["a",{"models":1}]',
      '[[{"models":1}]]',
      '{"options":[["{}"]]}',
      '{"stop":["a"]}',
      '{"parameters":[[{"a":1},{"adapter_id":1}]]}',
      '{"google":[{"models":1}]}',
      '"models"',
      '{"parameters":"{\\"adapter_id\\":1}"}',
      '{"extra_body[models]":1}',
      '{"model ":1}',
      "7",
    ].map((value) => within(value));
    expect(found).toEqual([
      "extra_body.models",
      "extra_body.parameters.adapter_id",
      "extra_body.models",
      "extra_body.extra_body.extra_body.model",
      null,
      "extra_body.0",
      "extra_body.0.0.models",
      "extra_body.options.0.0",
      null,
      "extra_body.parameters.0.1.adapter_id",
      null,
      "extra_body",
      "extra_body.parameters",
      "extra_body.extra_body[models]",
      "extra_body.model ",
      null,
    ]);
  });

  it.each(["model", "models", "messages", "lora_path", "parameters"])("are found behind many blanks: %s", (name) => {
    for (const blanks of [1, 34, 35, 39, 40, 41, 300])
      for (const blank of [" ", String.raw`\u0020`])
        expect({ blanks, blank, param: within(`{"${blank.repeat(blanks)}${name}":["x"]}`) }).toEqual({
          blanks,
          blank,
          param: expect.stringMatching(/^extra_body\./),
        });
  });

  it("may have long names of plain words", () => {
    const names = ["logits_processor_for_long_context_in_many_languages", "a".repeat(40), "b".repeat(300)];
    expect(names.map((name) => within(`{"${name}":1}`))).toEqual([null, null, null]);
  });

  it("are refused below more holders than honest bodies have", () => {
    const nested = (levels: number) => `${'{"extra_body":'.repeat(levels)}{"a":1}${"}".repeat(levels)}`;
    const listed = (levels: number) => `${"[".repeat(levels)}{"a":1}${"]".repeat(levels)}`;
    expect({ few: within(nested(4)), many: within(nested(5)), lists: within(listed(100)) }).toEqual({
      few: null,
      many: "extra_body.extra_body.extra_body.extra_body.extra_body.extra_body",
      lists: expect.stringMatching(/^extra_body\.0\.0\./),
    });
    expect(within(listed(4))).toBeNull();
  });

  it("are passed over where the operator allows them", () => {
    expect(within('{"models":1,"route":2}', new Set(["models"]))).toBe("extra_body.route");
  });
});

it("a steering field is every one that the table of the rules lists", () => {
  const rules = readFileSync(new URL("../../../docs/rules/routes.md", import.meta.url), "utf8");
  const [section = ""] = rules.split("## Fields that steer")[1]?.split("\n## ") ?? [];
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  const named = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.replace("*", "x")));
  expect(named.length).toBeGreaterThan(45);
  expect(named.filter((name) => !isRefused(name))).toEqual([]);
});
